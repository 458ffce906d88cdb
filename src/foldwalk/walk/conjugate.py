"""Conjugate gradients for many right-hand sides at once.

Solves (I - alpha S) X = B for a sparse symmetric S whose eigenvalues lie in [-1, 1] and 0 <= alpha < 1, so
the system is positive definite. Columns share the passes over S but keep their own step lengths, and a column
that has converged stands still. Memory: five arrays of n x columns; choose the columns per call accordingly.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from scipy import sparse

from foldwalk.core.types import AnyArray, Float32Array, Scalar
from foldwalk.walk.csr import parts

CHUNKS = 64


@njit(cache=True, parallel=True, fastmath={"reassoc", "contract"})
def _apply(
    indptr: AnyArray, indices: AnyArray, data: AnyArray, alpha: Scalar, p: AnyArray, out: AnyArray
) -> Scalar:
    """out = (I - alpha S) p; returns the dot products of the columns of p and out."""
    n, columns = p.shape
    partial = np.zeros((CHUNKS, columns))
    for chunk in prange(CHUNKS):
        sums = np.zeros(columns, p.dtype)
        walked = np.empty(columns, p.dtype)
        for row in range(chunk * n // CHUNKS, (chunk + 1) * n // CHUNKS):
            walked[:] = 0
            first, last = indptr[row], indptr[row + 1]
            # Four edges at once: what was walked so far is read and written a quarter as often.
            in_fours = first + (last - first) // 4 * 4
            for edge in range(first, in_fours, 4):
                w0, w1, w2, w3 = data[edge], data[edge + 1], data[edge + 2], data[edge + 3]
                p0, p1 = p[indices[edge]], p[indices[edge + 1]]
                p2, p3 = p[indices[edge + 2]], p[indices[edge + 3]]
                for c in range(columns):
                    walked[c] += w0 * p0[c] + w1 * p1[c] + w2 * p2[c] + w3 * p3[c]
            for edge in range(in_fours, last):
                weight, source = data[edge], p[indices[edge]]
                for c in range(columns):
                    walked[c] += weight * source[c]
            for c in range(columns):
                value = p[row, c] - alpha * walked[c]
                out[row, c] = value
                sums[c] += value * p[row, c]
        partial[chunk] = sums
    return np.sum(partial, axis=0)


@njit(cache=True, parallel=True, fastmath={"reassoc", "contract"})
def _advance(x: AnyArray, r: AnyArray, p: AnyArray, q: AnyArray, step: AnyArray) -> Scalar:
    """x += step p, r -= step q; returns the squared lengths of the columns of r."""
    n, columns = x.shape
    partial = np.zeros((CHUNKS, columns))
    for chunk in prange(CHUNKS):
        sums = np.zeros(columns, x.dtype)
        for row in range(chunk * n // CHUNKS, (chunk + 1) * n // CHUNKS):
            for c in range(columns):
                x[row, c] += step[c] * p[row, c]
                left = r[row, c] - step[c] * q[row, c]
                r[row, c] = left
                sums[c] += left * left
        partial[chunk] = sums
    return np.sum(partial, axis=0)


@njit(cache=True, parallel=True)
def _redirect(p: AnyArray, r: AnyArray, turn: AnyArray) -> None:
    """p = r + turn p."""
    for row in prange(p.shape[0]):
        for c in range(p.shape[1]):
            p[row, c] = r[row, c] + turn[c] * p[row, c]


def solve_diffusion(
    matrix: sparse.csr_array,
    right_hand_sides: AnyArray,
    alpha: float,
    tolerance: float = 1e-6,
    max_iterations: int = 20,
) -> AnyArray:
    """X with (I - alpha S) X = B, (n, columns), in B's precision (whole numbers: float64).

    Stops when every column's residual is below `tolerance` times its right-hand side, or after
    `max_iterations`; cut short, the walk has gone that many steps.
    """
    r = np.array(right_hand_sides, dtype=np.result_type(right_hand_sides, np.float32), order="C")
    kind = r.dtype.type
    x = np.zeros_like(r)
    p, q = r.copy(), np.empty_like(r)
    edges, data = parts(matrix)[:2], matrix.data.astype(kind, copy=False)
    squared = np.einsum("ij,ij->j", r, r, dtype=np.float64)
    goal = squared * tolerance**2
    for _ in range(max_iterations):
        active = squared > goal
        if not active.any():
            break
        curvature = _apply(*edges, data, kind(alpha), p, q)
        step = np.divide(squared, curvature, out=np.zeros_like(squared), where=active & (curvature > 0))
        after = _advance(x, r, p, q, step.astype(kind))
        turn = np.divide(after, squared, out=np.zeros_like(squared), where=active & (squared > 0))
        _redirect(p, r, turn.astype(kind))
        squared = after
    return x


def columns_per_block(n: int, budget_bytes: int = 512 * 2**20, most: int = 256) -> int:
    """How many float32 right-hand sides to solve at once within a memory budget."""
    return int(max(1, min(most, budget_bytes // (5 * 4 * max(n, 1)))))


def solve_dense(matrix: sparse.csr_array, right_hand_sides: Float32Array, alpha: float) -> Float32Array:
    """The same by a dense factorisation, for small n and for tests."""
    system = np.eye(matrix.shape[0]) - alpha * matrix.toarray().astype(np.float64)
    return np.linalg.solve(system, right_hand_sides.astype(np.float64)).astype(np.float32)
