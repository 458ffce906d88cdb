"""Diffusion: similarity that flows along the graph."""
