"""The part of a graph's spectrum that diffusion uses, by a randomised range finder.

Lanczos finds hundreds of clustered eigenvalues one after the other, for minutes. Here a block of random
vectors is diffused all at once (Halko, Martinsson and Tropp 2011, with the resolvent as the filter),

    Y = (I - alpha S)^-1 B,   Q = orth(Y),   Q' S Q = V L V',   U = Q V,

which favours an eigenvalue l by 1 / (1 - alpha l), the very weight it has afterwards.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse

from foldwalk.core.seeds import generator
from foldwalk.core.types import Float32Array
from foldwalk.walk.conjugate import columns_per_block
from foldwalk.walk.numbered import NumberedSystem

DENSE_UP_TO = 1000
SOLVER_STEPS = 20


def leading_eigenpairs(
    matrix: sparse.csr_array, count: int, alpha: float, seed: int = 0, passes: int = 2
) -> tuple[Float32Array, Float32Array]:
    """The `count` largest eigenvalues of a symmetric matrix, largest first, and their vectors as columns.

    Exact up to 1,000 items or where nearly all pairs are wanted; otherwise the leading ones are accurate and
    the last ones span about the right space.
    """
    n = matrix.shape[0]
    count = min(count, n)
    if n <= max(DENSE_UP_TO, 2 * count):
        values, vectors = linalg.eigh(matrix.toarray().astype(np.float64), check_finite=False)
        return _leading(values, vectors, count)
    block = generator(seed, "range finder").normal(size=(n, count + count // 10 + 10)).astype(np.float32)
    width, system = columns_per_block(n), NumberedSystem(matrix)
    for _ in range(passes):
        for first in range(0, block.shape[1], width):
            part = slice(first, first + width)
            block[:, part] = system.solve(block[:, part], alpha, max_iterations=SOLVER_STEPS)
        block = linalg.qr(block, mode="economic", overwrite_a=True, check_finite=False)[0]
    small = block.T @ (matrix @ block)
    values, turn = linalg.eigh((small + small.T) / 2, check_finite=False)
    values, turn = _leading(values, turn, count)
    return values, block @ turn


def _leading(values: Float32Array, vectors: Float32Array, count: int) -> tuple[Float32Array, Float32Array]:
    return values[::-1][:count].astype(np.float32), np.ascontiguousarray(
        vectors[:, ::-1][:, :count], np.float32
    )
