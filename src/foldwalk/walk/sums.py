"""Sums of listed rows of a dense array, without copies of them."""

from __future__ import annotations

from numba import njit, prange

from foldwalk.core.types import Float32Array, Int32Array


@njit(cache=True, parallel=True)
def weighted_sums(
    own: Float32Array, items: Float32Array, ids: Int32Array, weights: Float32Array
) -> Float32Array:
    """Each row of `own` and the items it lists, ids of -1 left out, times their weights."""
    sums = own.copy()
    for row in prange(own.shape[0]):
        for place in range(ids.shape[1]):
            if ids[row, place] >= 0:
                weight, item = weights[row, place], ids[row, place]
                for i in range(own.shape[1]):
                    sums[row, i] += weight * items[item, i]
    return sums
