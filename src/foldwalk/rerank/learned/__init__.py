"""Learned: a network is trained before it ranks, on the gallery itself; no labels are needed."""
