"""Blocks of products offered to the items they belong to, each of which keeps a list of the largest.

An item's list holds what was above its floor; when it is full, the `width` largest stay and the floor rises.
Whether any product of a group is above the floor, its maximum tells, and maxima of many groups are taken at
once. The farthest, below all so far, is noted along the way; a `lowest` of minus infinity turns that off.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from foldwalk.core.types import Float32Array, Int32Array, IntArray, Scalar
from foldwalk.walk.select import kth_largest

GROUP = 16  # products that are ruled out together
CHUNKS = 8


@njit()
def _widen(part: Float32Array, most: Float32Array, least: Float32Array) -> None:
    """Maximum and minimum element by element, which the compiler turns into wide steps."""
    for c in range(part.shape[0]):
        value = part[c]
        most[c] = value if value > most[c] else most[c]
        least[c] = value if value < least[c] else least[c]


@njit()
def _extremes_of_classes(row: Float32Array, most: Float32Array, least: Float32Array) -> None:
    """Of each residue class of the columns."""
    classes = most.shape[0]
    most[:] = row[:classes]
    least[:] = row[:classes]
    for begin in range(classes, row.shape[0], classes):
        _widen(row[begin : begin + classes], most, least)


@njit(cache=True, parallel=True)
def set_floors(products: Float32Array, rank: int, floors: Float32Array) -> None:
    """About the rank-th largest of each row: the rank-th of the maxima of classes, so rather less."""
    rows, columns = products.shape
    classes = min(max((columns + GROUP - 1) // GROUP, 4 * rank), columns)
    for chunk in prange(CHUNKS):
        most, least = np.empty(classes, np.float32), np.empty(classes, np.float32)
        for row in range(chunk * rows // CHUNKS, (chunk + 1) * rows // CHUNKS):
            _extremes_of_classes(products[row], most, least)
            floors[row] = kth_largest(most, classes, min(rank, classes))


@njit()
def _trim(values: Float32Array, ids: Int32Array, size: Scalar, width: Scalar, work: Float32Array) -> Scalar:
    """Move the `width` largest of the first `size` to the front; returns the smallest of them."""
    work[:size] = values[:size]
    floor = kth_largest(work, size, width)
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
    group: Float32Array,
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
    work: Float32Array,
) -> None:
    """Add those of first, first + step, ... to the item's list whose products are above its floor."""
    size = sizes[item]
    for g in range(group.shape[0]):
        if group[g] > floors[item]:
            values[item, size], ids[item, size] = group[g], first + g * step
            size += 1
        if group[g] < lowest[item]:
            lowest[item], farthest[item] = group[g], first + g * step
    if size > values.shape[1] - GROUP:
        floors[item] = _trim(values[item], ids[item], size, width, work)
        size = width
    sizes[item] = size


@njit(cache=True, parallel=True)
def offer_columns(
    products: Float32Array,
    first_row: int,
    first_column: int,
    width: int,
    values: Float32Array,
    ids: Int32Array,
    sizes: IntArray,
    floors: Float32Array,
    lowest: Float32Array,
    farthest: IntArray,
) -> None:
    """Offer the items of the columns to those of the rows."""
    rows, columns = products.shape
    classes = (columns + GROUP - 1) // GROUP
    for chunk in prange(CHUNKS):
        work = np.empty(values.shape[1], np.float32)
        most, least = np.empty(classes, np.float32), np.empty(classes, np.float32)
        for row in range(chunk * rows // CHUNKS, (chunk + 1) * rows // CHUNKS):
            item = first_row + row
            _extremes_of_classes(products[row], most, least)
            for c in range(classes):
                if most[c] > floors[item] or least[c] < lowest[item]:
                    _note(
                        products[row, c::classes], first_column + c, classes, item,
                        values, ids, sizes, floors, lowest, farthest, width, work,
                    )  # fmt: skip


@njit(cache=True, parallel=True)
def offer_rows(
    products: Float32Array,
    first_row: int,
    first_column: int,
    width: int,
    values: Float32Array,
    ids: Int32Array,
    sizes: IntArray,
    floors: Float32Array,
    lowest: Float32Array,
    farthest: IntArray,
) -> None:
    """Offer the items of the rows to those of the columns."""
    rows, columns = products.shape
    for chunk in prange(CHUNKS):
        work = np.empty(values.shape[1], np.float32)
        first, last = chunk * columns // CHUNKS, (chunk + 1) * columns // CHUNKS
        most, least = np.empty(last - first, np.float32), np.empty(last - first, np.float32)
        for begin in range(0, rows, GROUP):
            end = min(begin + GROUP, rows)
            most[:] = products[begin][first:last]
            least[:] = products[begin][first:last]
            for row in range(begin + 1, end):
                _widen(products[row][first:last], most, least)
            for c in range(last - first):
                item = first_column + first + c
                if most[c] > floors[item] or least[c] < lowest[item]:
                    _note(
                        products[begin:end, first + c], first_row + begin, 1, item,
                        values, ids, sizes, floors, lowest, farthest, width, work,
                    )  # fmt: skip


@njit(cache=True, parallel=True)
def trim_all(values: Float32Array, ids: Int32Array, sizes: IntArray, width: int) -> None:
    for item in prange(len(sizes)):
        if sizes[item] > width:
            work = np.empty(values.shape[1], np.float32)
            _trim(values[item], ids[item], sizes[item], width, work)
