"""Sparse rows on a dense scratch row: adding them up, keeping the largest entries; no n x n array anywhere.

Matrices are scipy CSR with float32 data. Every kernel runs in parallel over rows; a thread owns one dense
scratch row of n numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, prange
from scipy import sparse

from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray, Scalar
from foldwalk.walk.csr import Parts, csr, parts
from foldwalk.walk.select import border, kth_largest

CHUNKS = 128
BLOCK_BYTES = 32 * 2**20
NOTHING = np.float32(0)


@njit()
def keep_largest(
    scratch: Float32Array,
    touched: Int32Array,
    count: Scalar,
    cap: Scalar,
    threshold: Scalar,
    out_ids: Int32Array,
    out_values: Float32Array,
) -> Scalar:
    """Move the `cap` largest entries above the threshold from a scratch row to the output; clears the row."""
    floor, last = threshold, np.int32(-1)
    if count > cap > 0:
        values = np.empty(count, np.float32)
        for t in range(count):
            values[t] = scratch[touched[t]]
        least, until = border(values, touched, count, cap)
        if least > threshold:
            floor, last = least, until
    kept, size = np.empty(count + 1, np.int32), np.uint64(0)
    for t in range(count if cap > 0 else 0):
        item = touched[t]
        value = scratch[item]
        kept[size] = item  # whether it stays or not, which leaves no branch to guess
        size += np.uint64((value > floor) | ((value == floor) & (item <= last)))
    kept[:size].sort()
    for place in range(size):
        out_ids[place] = kept[place]
        out_values[place] = scratch[kept[place]]
    for t in range(count):
        scratch[touched[t]] = 0
    return np.int64(size)


@njit()
def keep_in_touched_order(
    scratch: Float32Array,
    touched: Int32Array,
    count: Scalar,
    cap: Scalar,
    work: Float32Array,
    out_ids: Int32Array,
    out_values: Float32Array,
) -> Scalar:
    """The `cap` largest entries of a scratch row, unsorted; among equals the first touched; clears it."""
    floor = np.float32(0)
    above = count
    if count > cap:
        for t in range(count):
            work[t] = scratch[touched[t]]
        floor = kth_largest(work, count, cap)
        above = 0
        for t in range(count):
            above += scratch[touched[t]] > floor
    equals = cap - above
    size = 0
    # Which entries stay cannot be guessed: all are moved up to the place of the next, without a branch.
    for t in range(np.uint64(count)):
        item = touched[t]
        value = scratch[np.uint64(item)]
        scratch[np.uint64(item)] = 0
        touched[np.uint64(size)] = item
        work[np.uint64(size)] = value
        size += (value > floor) | ((value == floor) & (equals > 0))
        equals -= value == floor
    out_ids[:size] = touched[:size]
    out_values[:size] = work[:size]
    return size


@njit(forceinline=True)
def scatter(
    ids: AnyArray,
    values: AnyArray,
    begin: Scalar,
    end: Scalar,
    weight: Scalar,
    scratch: Float32Array,
    touched: Int32Array,
    count: Scalar,
    least: Scalar = NOTHING,
) -> Scalar:
    """scratch += weight * the positive entries from begin to end; returns how many columns are touched now.

    What is less than `least` counts as that much; if that is above zero, every entry is touched.
    `touched` needs room for one more than there are columns: it is written without asking, which is faster.
    So are places without a sign, which cannot count from the end.
    """
    for entry in range(np.uint64(begin), np.uint64(end)):
        item, value = np.uint64(ids[entry]), max(weight * values[entry], least)
        before = scratch[item]
        touched[np.uint64(count)] = item
        count += (before == 0) & ((least > 0) | (value > 0))
        scratch[item] = before + value
    return count


@njit()
def add_rows(
    ids: Int32Array,
    weights: Float32Array,
    begin: Scalar,
    end: Scalar,
    factor: Scalar,
    matrix: Parts,
    scratch: Float32Array,
    touched: Int32Array,
    count: Scalar,
) -> Scalar:
    """scratch += factor * a sparse row (entries begin to end) times the matrix; counts as `scatter` does."""
    indptr, indices, data = matrix
    for entry in range(begin, end):
        first, last = indptr[ids[entry]], indptr[ids[entry] + 1]
        count = scatter(indices, data, first, last, factor * weights[entry], scratch, touched, count)
    return count


def room(count: int, width: int) -> tuple[Int32Array, Float32Array, IntArray]:
    """Room for rows of up to `width` entries: columns, values, and how many of each row count."""
    return np.empty((count, width), np.int32), np.empty((count, width), np.float32), np.zeros(count, np.int64)


def rows_of(
    kernel: Callable[..., None], left: sparse.csr_array, columns: int, cap: int, *others: Any
) -> sparse.csr_array:
    """What `kernel(left, *others, columns, ids, values, sizes)` makes of each row of `left`, in blocks.

    A row of the result has at most `cap` entries.
    """
    n, cap = left.shape[0], min(cap, columns)
    block = max(1, min(n, BLOCK_BYTES // (8 * max(cap, 1))))
    ids, values, _ = room(block, cap)
    indptr, indices, data = parts(left)
    blocks = []
    for first in range(0, max(n, 1), block):
        rows = min(block, n - first)
        written = ids[:rows], values[:rows], np.zeros(rows, np.int64)
        kernel((indptr[first : first + rows + 1], indices, data), *others, columns, *written)
        blocks.append(pack(*written, columns))
    return blocks[0] if len(blocks) == 1 else sparse.vstack(blocks, format="csr")


def pack(ids: Int32Array, values: Float32Array, sizes: IntArray, columns: int) -> sparse.csr_array:
    """Rows of a fixed width, of which the first sizes[row] entries count, as a CSR matrix."""
    indptr = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=indptr[1:])
    indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)
    _pack(ids, values, indptr, indices, data)
    return csr(indptr, indices, data, columns)


@njit(cache=True, parallel=True)
def _pack(
    ids: Int32Array, values: Float32Array, indptr: IntArray, indices: Int32Array, data: Float32Array
) -> None:
    for row in prange(ids.shape[0]):
        begin, end = indptr[row], indptr[row + 1]
        indices[begin:end] = ids[row, : end - begin]
        data[begin:end] = values[row, : end - begin]
