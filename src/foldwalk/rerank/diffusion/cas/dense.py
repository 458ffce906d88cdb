"""The fixed point of the diffusion of CAS on n x n arrays (eq. 5 to 12), and E, towards which it is pulled.

The paper asks of E that it is positive and semi-definite. What is checked is what the method needs: that E is
symmetric, or F is not, and that no entry is negative, or the rows of F are no distributions. The solution of
eq. 11 is there for every E, so that its eigenvalues are not looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import solve_continuous_lyapunov

from foldwalk.core.errors import BadInput
from foldwalk.core.types import Float64Array
from foldwalk.rerank.precomputed import DENSE_UP_TO

SYMMETRIC_WITHIN = 1e-5  # of the largest entry: what rounding to float32 may leave


def check_target(target: Any, n: int) -> sparse.csr_array:
    """E as the user gave it, n x n, or one sentence that says what is wrong."""
    if n > DENSE_UP_TO:
        raise BadInput(f"cas: target is n x n and refused above {DENSE_UP_TO} items, but there are {n}.")
    try:
        given = target if sparse.issparse(target) else np.asarray(target, dtype=np.float32)
        matrix = sparse.csr_array(given, dtype=np.float32, copy=True)
    except (TypeError, ValueError):
        raise BadInput("cas: target must be an array of numbers or a sparse matrix.") from None
    if matrix.shape != (n, n):
        raise BadInput(f"cas: target must be {n} x {n}, one row an item, but its shape is {given.shape}.")
    matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        raise BadInput("cas: target holds numbers that are not finite; mend or leave out these entries.")
    if (matrix.data < 0).any():
        raise BadInput("cas: target holds negative numbers, but similarities are at least 0: clip them.")
    largest = matrix.data.max(initial=0)
    if abs(matrix - matrix.T).max() > SYMMETRIC_WITHIN * largest:
        raise BadInput("cas: target must be symmetric, as similarities are: take (E + E.T) / 2.")
    matrix.eliminate_zeros()
    return matrix


def fixed_point(
    transitions: sparse.csr_array, alpha: float, solver: str, target: sparse.csr_array | None = None
) -> sparse.csr_array:
    """F by "iterate", "cg" or "lyapunov"; E is the identity if nothing else is given."""
    n = transitions.shape[0]
    if n > DENSE_UP_TO:
        raise BadInput(
            f"cas: solver={solver!r} holds n x n arrays and is refused above {DENSE_UP_TO} items; "
            f"use ten_steps or resolvent."
        )
    dense = transitions.toarray().astype(np.float64)
    towards = np.eye(n) if target is None else target.toarray().astype(np.float64)
    solvers = {"iterate": iterate, "cg": conjugate_gradients, "lyapunov": lyapunov}
    # What rounding leaves below zero is zero.
    return sparse.csr_array(np.maximum(solvers[solver](dense, towards, alpha), 0).astype(np.float32))


def iterate(
    transitions: Float64Array, target: Float64Array, alpha: float, tolerance: float = 1e-12
) -> Float64Array:
    """Eq. 12 to convergence, for any E."""
    similarity = target
    for _ in range(10_000):
        after = alpha / 2 * (similarity @ transitions.T + transitions @ similarity) + (1 - alpha) * target
        change = np.abs(after - similarity).max()
        similarity = after
        if change <= tolerance * np.abs(target).max():
            break
    return similarity


def conjugate_gradients(
    transitions: Float64Array, target: Float64Array, alpha: float, tolerance: float = 1e-12
) -> Float64Array:
    """Algorithm 1: conjugate gradients on matrices, vec(F) never formed."""
    n = len(transitions)

    def apply(p: Float64Array) -> Float64Array:
        return 2 * p - alpha * (transitions @ p + p @ transitions)

    f = np.zeros((n, n))
    r = 2 * (1 - alpha) * target - apply(f)
    p, squared = r.copy(), float((r * r).sum())
    enough = tolerance * squared**0.5
    for _ in range(10 * n):
        if squared**0.5 <= enough:
            break
        q = apply(p)
        step = squared / float((p * q).sum())
        f += step * p
        r -= step * q
        after = float((r * r).sum())
        p = r + after / squared * p
        squared = after
    return f


def lyapunov(transitions: Float64Array, target: Float64Array, alpha: float) -> Float64Array:
    """Eq. 11: (I - alpha S) F + F (I - alpha S) = 2 (1 - alpha) E, by scipy."""
    system = np.eye(len(transitions)) - alpha * transitions
    return np.asarray(solve_continuous_lyapunov(system, 2 * (1 - alpha) * target))
