"""Neighbour lists by loops, for graphs to be built from."""

from __future__ import annotations

import numpy as np

from foldwalk.core import Neighbors


def some_neighbors(
    n: int = 40, k: int = 6, metric: str = "cosine", seed: int = 0, missing: float = 0.0
) -> Neighbors:
    """The k nearest others of random points; a share of the rows ends early, in ids of -1."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    if metric == "cosine":
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        table = x @ x.T
    else:
        table = 1 / (1 + np.linalg.norm(x[:, None] - x[None], axis=2))
    ids = np.full((n, k), -1, np.int32)
    similarities = np.zeros((n, k), np.float32)
    for i in range(n):
        others = sorted((j for j in range(n) if j != i), key=lambda j: -table[i, j])
        known = rng.integers(0, k) if rng.random() < missing else k
        for place, j in enumerate(others[:known]):
            ids[i, place], similarities[i, place] = j, table[i, j]
    return Neighbors(ids, similarities, metric)


def listed(neighbors: Neighbors):
    """(row, place, neighbour, similarity) of every neighbour that is there."""
    for i, (row, values) in enumerate(
        zip(neighbors.ids.tolist(), neighbors.similarities.tolist(), strict=True)
    ):
        for place, (j, similarity) in enumerate(zip(row, values, strict=True)):
            if j >= 0:
                yield i, place, j, similarity


def squared_distance(similarity: float, metric: str) -> float:
    return max(0.0, 2 - 2 * similarity) if metric == "cosine" else (1 / similarity - 1) ** 2
