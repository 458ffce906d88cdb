"""Dot products of anchors and the items listed for them, without copies of the items' vectors."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray


@njit(cache=True, parallel=True, fastmath={"reassoc", "contract"})
def _fill(unit: AnyArray, anchors: AnyArray, ids: AnyArray, cosines: AnyArray) -> None:
    for row in prange(len(ids)):
        anchor = unit[anchors[row]]
        for place in range(ids.shape[1]):
            if ids[row, place] < 0:
                continue
            other = unit[ids[row, place]]
            total = np.float32(0)
            for axis in range(len(anchor)):
                total += anchor[axis] * other[axis]
            cosines[row, place] = total


def listed_cosines(unit: Float32Array, anchors: IntArray, ids: Int32Array) -> Float32Array:
    """The cosine of each anchor and each id of its row, (anchors, width); 0 where the id is -1."""
    cosines = np.zeros(ids.shape, np.float32)
    _fill(unit, anchors, ids, cosines)
    return cosines
