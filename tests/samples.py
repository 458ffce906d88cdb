"""Small synthetic data that every test may use."""

from __future__ import annotations

import numpy as np


def clustered(n: int = 120, d: int = 16, clusters: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors in a few clusters, and their labels."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % clusters
    centres = rng.normal(size=(clusters, d))
    x = centres[labels] + 0.35 * rng.normal(size=(n, d))
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32), labels
