"""The heap of Dijkstra's algorithm, for kernels: paths that get shorter, and the item whose turn it is."""

from __future__ import annotations

import heapq

import numpy as np
from numba import njit

from foldwalk.core.types import Float32Array, Int32Array, Scalar

LOW = 2**32 - 1


@njit()
def _waiting(length: Scalar, item: Scalar) -> Scalar:
    """Length and item in one number, ordered as the pair: a length is not negative, so its bits are."""
    return (np.int64(np.float32(length).view(np.int32)) << 32) | np.int64(item)


@njit()
def shorten(
    path: Float32Array, item: Scalar, length: Scalar, waiting: Scalar, touched: Int32Array, reached: Scalar
) -> Scalar:
    """Take a path that is shorter than the known one, infinite at first; returns how many are reached now."""
    touched[reached] = item
    reached += path[item] == np.inf
    path[item] = length
    heapq.heappush(waiting, _waiting(length, item))
    return reached


@njit()
def next_item(path: Float32Array, waiting: Scalar) -> Scalar:
    """The nearest item that waits; -1 where a shorter path to it was found since it was put there."""
    first = heapq.heappop(waiting)
    item = first & LOW
    return item if _waiting(path[item], item) == first else -1
