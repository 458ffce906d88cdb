"""Nearest neighbours by sorting all similarities in float64, and data to find them in."""

from __future__ import annotations

import numpy as np

from foldwalk.core import Neighbors, Vectors


def similarity_table(gallery: np.ndarray, queries: np.ndarray, metric: str) -> np.ndarray:
    """(q, n) in float64; minus infinity where a zero row has no cosine."""
    g, q = gallery.astype(np.float64), queries.astype(np.float64)
    if metric == "euclidean":
        return 1 / (1 + np.sqrt(((q[:, None] - g[None]) ** 2).sum(axis=2)))
    table = q @ g.T
    table[~q.any(axis=1)] = -np.inf
    table[:, ~g.any(axis=1)] = -np.inf
    return table


def naive_search(gallery, queries, k, metric, own=None) -> tuple[np.ndarray, np.ndarray]:
    """ids (q, k), -1 where there is none, and their similarities."""
    table = similarity_table(gallery, queries, metric)
    if own is not None:
        table[np.flatnonzero(own >= 0), own[own >= 0]] = -np.inf
    ids = np.argsort(-table, axis=1, kind="stable")[:, :k]
    values = np.take_along_axis(table, ids, axis=1)
    return np.where(np.isinf(values), -1, ids), np.where(np.isinf(values), 0, values)


def assert_nearest(found: Neighbors, gallery, queries, k, metric, own=None, atol=1e-6) -> None:
    """Rows are as similar as the best there are, in order; where nothing is close they are the very same."""
    ids, values = naive_search(gallery, queries, k, metric, own)
    assert found.ids.shape == (len(queries), k)
    assert (found.ids.dtype, found.similarities.dtype) == (np.int32, np.float32)
    assert np.allclose(found.similarities, values, rtol=0, atol=atol)
    assert ((found.ids < 0) == (ids < 0)).all()
    assert (found.similarities[found.ids < 0] == 0).all()
    table = similarity_table(gallery, queries, metric)
    claimed = np.take_along_axis(table, np.maximum(found.ids, 0).astype(np.int64), axis=1)
    known = found.ids >= 0
    assert np.allclose(claimed[known], found.similarities[known], rtol=0, atol=atol)
    for row, (items, numbers) in enumerate(zip(found.ids, found.similarities, strict=True)):
        there = items[items >= 0]
        assert len(set(there.tolist())) == len(there)
        assert own is None or own[row] not in there
        for a in range(len(there) - 1):
            assert (-numbers[a], there[a]) < (-numbers[a + 1], there[a + 1])


def unit_lattice(n: int, d: int, seed: int) -> np.ndarray:
    """Unit vectors with four entries of +-1/2: all dot products are exact and most are ties."""
    rng = np.random.default_rng(seed)
    x = np.zeros((n, d), np.float32)
    for row in x:
        row[rng.permutation(d)[:4]] = rng.choice([-0.5, 0.5], size=4)
    return x


def random_vectors(n: int, d: int, seed: int = 0) -> Vectors:
    return Vectors.check(np.random.default_rng(seed).normal(size=(n, d)))
