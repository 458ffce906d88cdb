"""How well and at what cost methods rank data sets: measured, compared, written to files."""
