"""The k largest of a row, ties to the smaller id: the one order every stage agrees on."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray, Scalar

STRIDE = 32
CHUNKS = 128
LAST = 2**31 - 1
FEW_TO_SORT, FEW_LEFT = 64, 256


@njit(inline="always")
def comes_before(value: Scalar, item: Scalar, other_value: Scalar, other_item: Scalar) -> Scalar:
    """Larger value first; among equals the smaller id first."""
    return value > other_value or (value == other_value and item < other_item)


@njit()
def sift_down(values: AnyArray, items: AnyArray, size: int) -> None:
    """Restore a heap whose root, the entry that comes last, was just replaced."""
    parent = 0
    while True:
        last = 2 * parent + 1
        if last >= size:
            return
        right = last + 1
        if right < size and comes_before(values[last], items[last], values[right], items[right]):
            last = right
        if not comes_before(values[parent], items[parent], values[last], items[last]):
            return
        values[parent], values[last] = values[last], values[parent]
        items[parent], items[last] = items[last], items[parent]
        parent = last


@njit()
def sort_heap(values: AnyArray, items: AnyArray, size: int) -> None:
    """Turn the heap into a list, best first."""
    for end in range(size - 1, 0, -1):
        values[0], values[end] = values[end], values[0]
        items[0], items[end] = items[end], items[0]
        sift_down(values, items, end)


@njit()
def offer(values: AnyArray, items: AnyArray, size: int, capacity: int, value: Scalar, item: Scalar) -> int:
    """Offer one entry to a heap of the best `capacity`; returns the heap's new size."""
    if size < capacity:
        child = size
        values[child], items[child] = value, item
        while child > 0:
            parent = (child - 1) // 2
            if not comes_before(values[parent], items[parent], values[child], items[child]):
                break
            values[parent], values[child] = values[child], values[parent]
            items[parent], items[child] = items[child], items[parent]
            child = parent
        return size + 1
    if capacity > 0 and comes_before(value, item, values[0], items[0]):
        values[0], items[0] = value, item
        sift_down(values, items, size)
    return size


@njit(inline="always")
def _number(value: Scalar) -> Scalar:
    """Whole numbers in the order of the values: the bits, those of negative ones turned around."""
    bits = np.int64(np.float32(value).view(np.int32))
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


@njit(inline="always")
def _value(number: Scalar) -> Scalar:
    return np.int32(number ^ ((number >> 31) & 0x7FFFFFFF)).view(np.float32)


@njit()
def _count_from(values: Float32Array, size: Scalar, level: Scalar) -> Scalar:
    count = np.int32(0)  # as wide as what is compared, so that the compiler takes wide steps
    for t in range(size):
        count += np.int32(values[t] >= level)
    return count


@njit()
def kth_largest(values: Float32Array, size: Scalar, k: Scalar) -> Scalar:
    """The k-th largest of the first `size` values; k counts from one.

    The range of the values' bits is halved; counting how many reach its middle takes no branches that a
    processor could guess wrong.
    """
    least = most = values[0]
    for t in range(1, size):
        value = values[t]
        least = value if value < least else least
        most = value if value > most else most
    low, high = _number(least), _number(most)
    while low < high:
        middle = (low + high + 1) >> 1
        level = _value(middle)
        count = _count_from(values, size, level)
        if count == k:
            for t in range(size):
                value = values[t] if values[t] >= level else most
                most = value if value < most else most
            return most
        if count > k:
            low = middle
        else:
            high = middle - 1
    return _value(low)


@njit()
def border(values: Float32Array, ids: AnyArray, size: Scalar, k: Scalar) -> Scalar:
    """The k largest of `size` entries, ties to the smaller id, by what their last one is.

    Those belong to them whose value is above the first number returned, or equal to it with an id up to the
    second.
    """
    floor = kth_largest(values, size, k)
    above, tied = np.int32(0), np.int32(0)
    for t in range(size):
        above += np.int32(values[t] > floor)
        tied += np.int32(values[t] == floor)
    if above + tied == k:
        return floor, np.int32(LAST)
    equals, found = np.empty(tied, np.int32), 0
    for t in range(size):
        if values[t] == floor:
            equals[found] = ids[t]
            found += 1
    equals.sort()
    return floor, equals[k - above - 1]


@njit()
def _extremes(row: Float32Array, largest: Float32Array, smallest: Float32Array) -> None:
    """Of each residue class of the columns: element by element, which the compiler turns into wide steps."""
    classes = largest.shape[0]
    largest[:] = row[:classes]
    smallest[:] = row[:classes]
    for begin in range(classes, row.shape[0], classes):
        part = row[begin : begin + classes]
        for c in range(part.shape[0]):
            value = part[c]
            largest[c] = value if value > largest[c] else largest[c]
            smallest[c] = value if value < smallest[c] else smallest[c]


@njit(cache=True, parallel=True)
def _top_dense(scores: Float32Array, k: int, ids: Int32Array, values: Float32Array, lowest: IntArray) -> None:
    """The k-th largest maximum of all classes is no larger than the k-th largest entry: most need no look.

    Where that leaves too many, the k-th largest entry itself is the floor.
    """
    rows, columns = scores.shape
    classes = (columns + STRIDE - 1) // STRIDE
    for chunk in prange(CHUNKS):
        first, last = chunk * rows // CHUNKS, (chunk + 1) * rows // CHUNKS
        if first == last:
            continue
        maxima, minima = np.empty(classes, np.float32), np.empty(classes, np.float32)
        for row in range(first, last):
            _extremes(scores[row], maxima, minima)
            low = minima.min()
            lowest[row] = columns
            for c in range(classes):
                if minima[c] == low:
                    column = c
                    while scores[row, column] != low:
                        column += classes
                    lowest[row] = min(lowest[row], column)
            enough = classes >= k
            floor = kth_largest(maxima, classes, k) if enough else kth_largest(scores[row], columns, k)
            size = 0
            for c in range(classes):
                if maxima[c] < floor:
                    continue
                for column in range(c, columns, classes):
                    if scores[row, column] >= floor:
                        size = offer(values[row], ids[row], size, k, scores[row, column], column)
                        if size == k:
                            floor = max(floor, values[row, 0])
            sort_heap(values[row], ids[row], size)


def top_of_dense_rows(scores: Float32Array, k: int) -> tuple[Int32Array, Float32Array, IntArray]:
    """Columns and values of the k largest of each row of a dense block, and the column of the smallest.

    Largest first, ties by column.
    """
    k = min(k, scores.shape[1])
    ids = np.full((scores.shape[0], k), -1, np.int32)
    values = np.zeros((scores.shape[0], k), np.float32)
    lowest = np.zeros(scores.shape[0], np.int64)
    if k > 0:
        _top_dense(scores, k, ids, values, lowest)
    return ids, values, lowest


@njit()
def sort_few(values: Int32Array, begin: Scalar, end: Scalar) -> None:
    """By insertion, much the quickest for a few."""
    if end - begin > FEW_TO_SORT:
        values[begin:end].sort()
        return
    for place in range(begin + 1, end):
        value = values[place]
        while place > begin and values[place - 1] > value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value


@njit()
def _count_above(values: Float32Array, bound: Scalar) -> Scalar:
    count = np.int32(0)  # as wide as what is compared, so that the compiler takes wide steps
    for i in range(values.shape[0]):
        count += np.int32(values[i] > bound)
    return count


@njit(cache=True, parallel=True)
def kth_of_rows(scores: Float32Array, rank: int) -> Float32Array:
    """The rank-th largest of each row, all between -2 and 2: counting narrows its range until few are left.

    Each time, the end of the range that is farther from the wanted rank moves close to it, by interpolation,
    or by halves where that was of little use.
    """
    rows, columns = scores.shape
    out = np.empty(rows, np.float32)
    for row in prange(rows):
        values, work = scores[row], np.empty(columns + 1, np.float32)
        low, high = np.float32(-2), np.float32(2)
        above_low, above_high, halve = columns, 0, False
        while above_low - above_high > FEW_LEFT:
            below = above_low - rank > rank - above_high
            wanted = rank + FEW_LEFT // 3 if below else rank - FEW_LEFT // 3
            inside = above_low - above_high
            share = 0.5 if halve else min(max((above_low - wanted) / inside, 0.05), 0.95)
            middle = np.float32(low + (high - low) * share)
            if middle <= low or middle >= high:
                break  # nearly all that are left are equal
            above = _count_above(values, middle)
            if above >= rank:
                low, above_low = middle, above
            else:
                high, above_high = middle, above
            halve = 2 * (above_low - above_high) > inside
        size = np.uint64(0)
        for i in range(columns):  # written whether it stays or not, which leaves no branch to guess
            work[size] = values[i]
            size += np.uint64((values[i] > low) & (values[i] <= high))
        out[row] = kth_largest(work, np.int64(size), rank - above_high)
    return out
