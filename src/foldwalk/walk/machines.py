"""Many small linear support vector machines, on the matrices of their examples' dot products."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from foldwalk.core.types import Float32Array, Scalar

TOLERANCE = 1e-4
MOST_SWEEPS = 1000


@njit(cache=True, parallel=True)
def solve_duals(
    gram: Float32Array, signs: Float32Array, known: Scalar, cost: Scalar, alpha: Float32Array
) -> None:
    """Coordinate descent in the dual of each machine; examples that are not known keep a weight of zero."""
    count, examples = alpha.shape
    for q in prange(count):
        margins = np.zeros(examples, np.float32)
        for _ in range(MOST_SWEEPS):
            worst = np.float32(0)
            for i in range(examples):
                if not known[q, i]:
                    continue
                slope = signs[i] * margins[i] - np.float32(1)
                before = alpha[q, i]
                after = min(max(before - slope / gram[q, i, i], np.float32(0)), cost)
                if after == before:
                    continue
                change = (after - before) * signs[i]
                alpha[q, i] = after
                for j in range(examples):
                    margins[j] += change * gram[q, i, j]
                worst = max(worst, abs(after - before) * gram[q, i, i])
            if worst < TOLERANCE:
                break
