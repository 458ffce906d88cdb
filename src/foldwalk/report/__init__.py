"""Measurements, plots and HTML reports of how methods rank."""
