"""The largest eigenpairs of a sparse symmetric matrix."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh

from foldwalk.core.seeds import generator
from foldwalk.core.types import Float64Array


def largest_eigenpairs(
    matrix: sparse.csr_array, count: int, seed: int = 0, tolerance: float = 1e-6
) -> tuple[Float64Array, Float64Array]:
    """The `count` algebraically largest eigenvalues, largest first, and their vectors as columns (n, count).

    Lanczos from a seeded start; a dense solver where nearly all pairs are wanted. The sign of each vector
    makes its largest entry positive, so that the answer is reproducible.
    """
    n = matrix.shape[0]
    count = min(count, n)
    if count > 0.4 * n or n < 50:
        values, vectors = np.linalg.eigh(matrix.toarray().astype(np.float64))
        values, vectors = values[::-1][:count], vectors[:, ::-1][:, :count]
    else:
        start = generator(seed, "lanczos").normal(size=n)
        values, vectors = eigsh(matrix.astype(np.float64), k=count, which="LA", v0=start, tol=tolerance)
        order = np.argsort(-values, kind="stable")
        values, vectors = values[order], vectors[:, order]
    peak = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[peak, np.arange(vectors.shape[1])])
    return values, vectors * np.where(signs == 0, 1, signs)
