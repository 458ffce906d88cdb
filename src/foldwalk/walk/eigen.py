"""The largest eigenpairs of a sparse symmetric matrix."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh

from foldwalk.core.seeds import generator
from foldwalk.core.types import Float64Array


def largest_eigenpairs(
    matrix: sparse.csr_array, count: int, seed: int = 0, tolerance: float = 1e-6
) -> tuple[Float64Array, Float64Array]:
    """The `count` algebraically largest eigenvalues, largest first, and their vectors as columns (n, count).

    Each connected component is solved by itself: a graph of m components has its largest eigenvalue m times,
    and Lanczos, which starts from one vector, would miss most of them. The sign of each vector makes its
    largest entry positive, so that the answer is reproducible.
    """
    n = matrix.shape[0]
    count = min(count, n)
    component = connected_components(matrix, directed=False)[1]
    order = np.argsort(component, kind="stable")
    blocks = sparse.csr_array(matrix[order][:, order], dtype=np.float64)
    firsts = np.flatnonzero(np.diff(component[order], prepend=-1))
    lasts = np.append(firsts[1:], n)
    pairs = [
        _of_connected(_block(blocks, first, last), min(count, last - first), seed, tolerance)
        for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)
    ]
    values = np.concatenate([v for v, _ in pairs])
    owner = np.repeat(np.arange(len(pairs)), [len(v) for v, _ in pairs])
    column = np.concatenate([np.arange(len(v)) for v, _ in pairs])
    best = np.argsort(-values, kind="stable")[:count]
    vectors = np.zeros((n, count))
    for place, pair in enumerate(best):
        part = owner[pair]
        vectors[order[firsts[part] : lasts[part]], place] = pairs[part][1][:, column[pair]]
    peak = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[peak, np.arange(count)])
    return values[best], vectors * np.where(signs == 0, 1, signs)


def _block(blocks: sparse.csr_array, first: int, last: int) -> sparse.csr_array:
    """Rows and columns first ... last - 1 of a block-diagonal matrix."""
    begin, end = blocks.indptr[first], blocks.indptr[last]
    inside = (
        blocks.data[begin:end],
        blocks.indices[begin:end] - first,
        blocks.indptr[first : last + 1] - begin,
    )
    return sparse.csr_array(inside, shape=(last - first, last - first))


def _of_connected(
    matrix: sparse.csr_array, count: int, seed: int, tolerance: float
) -> tuple[Float64Array, Float64Array]:
    """Lanczos from a seeded start; a dense solver where nearly all pairs are wanted."""
    n = matrix.shape[0]
    if n == 1:
        return matrix.toarray()[0], np.ones((1, 1))
    if count > 0.4 * n or n < 50:
        values, vectors = np.linalg.eigh(matrix.toarray())
        return values[::-1][:count], vectors[:, ::-1][:, :count]
    start = generator(seed, "lanczos").normal(size=n)
    values, vectors = eigsh(matrix, k=count, which="LA", v0=start, tol=tolerance)
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]
