"""Learned re-rankers."""
