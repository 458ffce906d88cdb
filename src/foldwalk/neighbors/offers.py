"""Tiles of products offered to the items they belong to, each of which keeps a list of the largest.

An item's list holds what was above its floor; when it is full, the `width` largest stay and the floor rises.
Whether any product of a group is above the floor, its maximum tells, and maxima of many groups are taken at
once. The farthest, below all so far, is noted along the way; a `lowest` of minus infinity turns that off.
A tile is read once, in strips that the nearest cache holds, for the items of its rows and of its columns.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from foldwalk.core.types import Float32Array, Int32Array, IntArray, Scalar
from foldwalk.walk.select import kth_largest

GROUP = 16  # products that are ruled out together, and rows of a strip


@njit()
def _extremes(strip: Float32Array, most: Float32Array, least: Float32Array) -> None:
    """Of each column of GROUP rows: a number that the compiler knows, so that it takes wide steps."""
    for c in range(most.shape[0]):
        high = low = strip[0, c]
        for row in range(1, GROUP):
            value = strip[row, c]
            high = value if value > high else high
            low = value if value < low else low
        most[c], least[c] = high, low


@njit(cache=True, nogil=True)
def set_floors(products: Float32Array, rank: int, floors: Float32Array) -> None:
    """The rank-th largest of each row; where there are enough, that of the maxima of groups: rather less."""
    rows, columns = products.shape
    classes = columns // GROUP
    most, least = np.empty(classes, np.float32), np.empty(classes, np.float32)
    for row in range(rows):
        if classes >= 2 * rank:
            _extremes(products[row, : GROUP * classes].reshape(GROUP, classes), most, least)
            floors[row] = kth_largest(most, classes, rank)
        else:
            floors[row] = kth_largest(products[row], columns, min(rank, columns))


@njit()
def _trim(values: Float32Array, ids: Int32Array, size: Scalar, width: Scalar) -> Scalar:
    """Move the `width` largest of the first `size` to the front; returns the smallest of them."""
    floor = kth_largest(values, size, width)
    ties = width
    for place in range(size):
        ties -= values[place] > floor
    kept = 0
    for place in range(size):
        value, item = values[place], ids[place]
        tied = (value == floor) & (ties > 0)
        values[kept], ids[kept] = value, item
        kept += (value > floor) | tied
        ties -= tied
    return floor


@njit(inline="always")
def _note(
    products: Float32Array,
    start: Scalar,
    stride: Scalar,
    count: Scalar,
    first: Scalar,
    step: Scalar,
    item: Scalar,
    values: Float32Array,
    ids: Int32Array,
    sizes: IntArray,
    floors: Float32Array,
    lowest: Float32Array,
    farthest: IntArray,
    width: Scalar,
) -> None:
    """Add those of first, first + step, ... to the item's list whose products are above its floor.

    Their products stand at start, start + stride, ... of the tile in one row.
    """
    size, floor, low = np.uint64(sizes[item]), floors[item], lowest[item]
    own_values, own_ids = values[item], ids[item]
    least = low
    for g in range(count):
        value = products[np.uint64(start + g * stride)]
        # Written whether it stays or not, which leaves no branch to guess.
        own_values[size], own_ids[size] = value, first + g * step
        size += np.uint64(value > floor)
        least = value if value < least else least
    if least < low:
        lowest[item] = least
        for g in range(count - 1, -1, -1):
            if products[start + g * stride] == least:
                farthest[item] = first + g * step
    if size > values.shape[1] - GROUP:
        floors[item] = _trim(own_values, own_ids, np.int64(size), width)
        sizes[item] = width
    else:
        sizes[item] = size


@njit(cache=True, nogil=True)
def offer_tile(
    products: Float32Array,
    first_row: int,
    first_column: int,
    both: bool,
    width: int,
    values: Float32Array,
    ids: Int32Array,
    sizes: IntArray,
    floors: Float32Array,
    lowest: Float32Array,
    farthest: IntArray,
) -> None:
    """Offer the items of the columns to those of the rows and, for `both`, the other way round."""
    rows, columns = products.shape
    classes = columns // GROUP
    grouped = GROUP * classes
    flat = products.reshape(rows * columns)
    most, least = np.empty(classes, np.float32), np.empty(classes, np.float32)
    highest, deepest = np.empty(columns, np.float32), np.empty(columns, np.float32)
    for begin in range(0, rows, GROUP):
        end = min(begin + GROUP, rows)
        for row in range(begin, end):
            item = first_row + row
            _extremes(products[row, :grouped].reshape(GROUP, classes), most, least)
            for c in range(classes):
                if most[c] > floors[item] or least[c] < lowest[item]:
                    _note(
                        flat, row * columns + c, classes, GROUP, first_column + c, classes, item,
                        values, ids, sizes, floors, lowest, farthest, width,
                    )  # fmt: skip
            _note(
                flat, row * columns + grouped, 1, columns - grouped, first_column + grouped, 1, item,
                values, ids, sizes, floors, lowest, farthest, width,
            )  # fmt: skip
        if not both:
            continue
        if end - begin == GROUP:
            _extremes(products[begin:end], highest, deepest)
        else:
            highest[:] = np.inf
        for c in range(columns):
            item = first_column + c
            if highest[c] > floors[item] or deepest[c] < lowest[item]:
                _note(
                    flat, begin * columns + c, columns, end - begin, first_row + begin, 1, item,
                    values, ids, sizes, floors, lowest, farthest, width,
                )  # fmt: skip


@njit(cache=True, parallel=True)
def trim_all(
    values: Float32Array, ids: Int32Array, sizes: IntArray, floors: Float32Array, width: int
) -> None:
    """Of each list the `width` largest; the least of them is the floor."""
    for item in prange(len(sizes)):
        if sizes[item] > width:
            floors[item] = _trim(values[item], ids[item], sizes[item], width)
            sizes[item] = width
