"""Least squares with weights that are not negative and sum to one."""

from __future__ import annotations

import numpy as np
from numba import njit

from foldwalk.core.types import Float64Array


@njit()
def simplex_least_squares(gram: Float64Array) -> Float64Array:
    """min z' G z over the simplex: weight moves between the entries that disagree most, as far as it pays.

    Unlike a gradient step, whose length the farthest entry dictates, this is exact for near and far alike.
    """
    c = gram.shape[0]
    nearest = int(np.argmin(np.diag(gram)))
    z = np.zeros(c)
    z[nearest] = 1.0
    slope = gram[nearest].copy()
    for _ in range(10_000):
        to, source = int(np.argmin(slope)), nearest
        for a in range(c):
            if z[a] > 0.0 and (z[source] == 0.0 or slope[a] > slope[source]):
                source = a
        gain = slope[source] - slope[to]
        if gain <= 1e-12 * gram[nearest, nearest]:
            break
        bend = gram[to, to] + gram[source, source] - 2.0 * gram[to, source]
        moved = z[source] if gain >= bend * z[source] else gain / bend
        z[to] += moved
        z[source] -= moved
        slope += moved * (gram[to] - gram[source])
    return z
