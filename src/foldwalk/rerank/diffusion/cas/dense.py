"""The fixed point of the diffusion of CAS on n x n arrays (eq. 5 to 12): for the ablation, or another E."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.linalg import solve_continuous_lyapunov

from foldwalk.core.errors import BadInput
from foldwalk.core.types import Float64Array
from foldwalk.rerank.precomputed import DENSE_UP_TO


def fixed_point(transitions: sparse.csr_array, alpha: float, solver: str) -> sparse.csr_array:
    """F for E = I by "iterate", "cg" or "lyapunov"."""
    n = transitions.shape[0]
    if n > DENSE_UP_TO:
        raise BadInput(
            f"cas: solver={solver!r} holds n x n arrays and is refused above {DENSE_UP_TO} items; "
            f"use ten_steps or resolvent."
        )
    dense = transitions.toarray().astype(np.float64)
    solvers = {"iterate": iterate, "cg": conjugate_gradients, "lyapunov": lyapunov}
    return sparse.csr_array(solvers[solver](dense, np.eye(n), alpha).astype(np.float32))


def iterate(
    transitions: Float64Array, target: Float64Array, alpha: float, tolerance: float = 1e-12
) -> Float64Array:
    """Eq. 12 to convergence, for any E."""
    similarity = target
    for _ in range(10_000):
        after = alpha / 2 * (similarity @ transitions.T + transitions @ similarity) + (1 - alpha) * target
        change = np.abs(after - similarity).max()
        similarity = after
        if change < tolerance:
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
    for _ in range(10 * n):
        if squared**0.5 < tolerance:
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
