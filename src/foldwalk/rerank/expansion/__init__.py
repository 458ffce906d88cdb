"""Query expansion: search again with a better query."""
