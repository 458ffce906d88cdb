"""Sparse rows times sparse matrices, each row cut to its largest entries; no n x n array anywhere.

Matrices are scipy CSR with float32 data. Every kernel runs in parallel over rows; a thread owns one dense
scratch row of n numbers. Rows come out with ascending column ids.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from scipy import sparse

from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray, Scalar
from foldwalk.walk.csr import csr, parts
from foldwalk.walk.select import LAST, border

CHUNKS = 128
BLOCK_BYTES = 32 * 2**20


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
def scatter(
    ids: AnyArray,
    values: AnyArray,
    begin: Scalar,
    end: Scalar,
    weight: Scalar,
    scratch: Float32Array,
    touched: Int32Array,
    count: Scalar,
) -> Scalar:
    """scratch += weight * the positive entries from begin to end; returns how many columns are touched now.

    `touched` needs room for one more than there are columns: it is written without asking, which is faster.
    So are places without a sign, which cannot count from the end.
    """
    for entry in range(np.uint64(begin), np.uint64(end)):
        item, value = np.uint64(ids[entry]), max(weight * values[entry], np.float32(0))
        before = scratch[item]
        touched[np.uint64(count)] = item
        count += (before == 0) & (value > 0)
        scratch[item] = before + value
    return count


@njit(cache=True, parallel=True)
def _multiply(
    a_indptr: AnyArray,
    a_indices: AnyArray,
    a_data: AnyArray,
    b_indptr: AnyArray,
    b_indices: AnyArray,
    b_data: AnyArray,
    columns: int,
    cap: int,
    threshold: Scalar,
    out_ids: Int32Array,
    out_values: Float32Array,
    sizes: IntArray,
) -> None:
    n = a_indptr.shape[0] - 1
    for chunk in prange(CHUNKS):
        first, last = chunk * n // CHUNKS, (chunk + 1) * n // CHUNKS
        if first == last:
            continue
        scratch = np.zeros(columns, np.float32)
        touched = np.empty(columns + 1, np.int32)
        for row in range(first, last):
            count = 0
            for edge in range(a_indptr[row], a_indptr[row + 1]):
                begin, end = b_indptr[a_indices[edge]], b_indptr[a_indices[edge] + 1]
                count = scatter(b_indices, b_data, begin, end, a_data[edge], scratch, touched, count)
            sizes[row] = keep_largest(scratch, touched, count, cap, threshold, out_ids[row], out_values[row])


def multiply_capped(
    left: sparse.csr_array, right: sparse.csr_array, cap: int, threshold: float = 0.0
) -> sparse.csr_array:
    """left @ right, both >= 0, with the `cap` largest entries above `threshold` of each row kept."""
    n, columns = left.shape[0], right.shape[1]
    cap = min(cap, columns)
    block = max(1, min(n, BLOCK_BYTES // (8 * max(cap, 1))))
    ids = np.empty((block, cap), np.int32)
    values = np.empty((block, cap), np.float32)
    left_indptr, left_indices, left_data = parts(left)
    right_parts = parts(right)
    blocks = []
    for first in range(0, max(n, 1), block):
        rows = min(block, n - first)
        sizes = np.zeros(rows, np.int64)
        _multiply(
            left_indptr[first : first + rows + 1], left_indices, left_data, *right_parts,
            columns, cap, np.float32(threshold), ids[:rows], values[:rows], sizes,
        )  # fmt: skip
        blocks.append(pack(ids[:rows], values[:rows], sizes, columns))
    return blocks[0] if len(blocks) == 1 else sparse.vstack(blocks, format="csr")


@njit(cache=True, parallel=True)
def _series(
    indptr: AnyArray,
    indices: AnyArray,
    data: AnyArray,
    start_indptr: AnyArray,
    start_indices: AnyArray,
    start_data: AnyArray,
    alpha: Scalar,
    terms: int,
    threshold: Scalar,
    columns: int,
    cap: int,
    out_ids: Int32Array,
    out_values: Float32Array,
    sizes: IntArray,
) -> None:
    n = start_indptr.shape[0] - 1
    for chunk in prange(CHUNKS):
        first, last = chunk * n // CHUNKS, (chunk + 1) * n // CHUNKS
        if first == last:
            continue
        total = np.zeros(columns, np.float32)
        step = np.zeros(columns, np.float32)
        in_total = np.empty(columns + 1, np.int32)
        in_step = np.empty(columns + 1, np.int32)
        front_ids = np.empty(columns, np.int32)
        front_values = np.empty(columns, np.float32)
        for row in range(first, last):
            begin, end = start_indptr[row], start_indptr[row + 1]
            reached = scatter(start_indices, start_data, begin, end, np.float32(1), total, in_total, 0)
            front = reached
            for t in range(reached):
                front_ids[t] = in_total[t]
                front_values[t] = total[in_total[t]]
            for _ in range(terms):
                count = 0
                for f in range(front):
                    weight = alpha * front_values[f]
                    begin, end = indptr[front_ids[f]], indptr[front_ids[f] + 1]
                    count = scatter(indices, data, begin, end, weight, step, in_step, count)
                front = 0
                for t in range(count):
                    item = in_step[t]
                    value = step[item]
                    step[item] = 0
                    if value > threshold:
                        front_ids[front] = item
                        front_values[front] = value
                        front += 1
                        if total[item] == 0:
                            in_total[reached] = item
                            reached += 1
                        total[item] += value
                if front == 0:
                    break
            sizes[row] = keep_largest(
                total, in_total, reached, cap, np.float32(0), out_ids[row], out_values[row]
            )


def power_series(
    matrix: sparse.csr_array,
    starts: sparse.csr_array,
    alpha: float,
    terms: int = 24,
    threshold: float = 1e-6,
    cap: int = 1000,
) -> sparse.csr_array:
    """sum over t = 0 ... terms of starts (alpha S)^t, row by row, S >= 0 symmetric or not.

    What is below `threshold` in one term walks no further, and each row keeps its `cap` largest entries: a
    sparse approximation of starts (I - alpha S)^-1.
    """
    n, columns = starts.shape
    cap = min(cap, columns)
    ids = np.empty((n, cap), np.int32)
    values = np.empty((n, cap), np.float32)
    sizes = np.zeros(n, np.int64)
    _series(
        *parts(matrix),
        *parts(starts),
        np.float32(alpha), terms, np.float32(threshold), columns, cap, ids, values, sizes,
    )  # fmt: skip
    return pack(ids, values, sizes, columns)


@njit(cache=True, parallel=True)
def _top_rows(
    indptr: AnyArray,
    indices: AnyArray,
    data: AnyArray,
    cap: int,
    out_ids: Int32Array,
    out_values: Float32Array,
    sizes: IntArray,
) -> None:
    for row in prange(indptr.shape[0] - 1):
        begin, end = indptr[row], indptr[row + 1]
        floor, last = np.float32(-np.inf), np.int32(LAST)
        if end - begin > cap:
            floor, last = border(data[begin:end], indices[begin:end], end - begin, cap)
        size, ascending = 0, True
        for edge in range(begin, end):
            item, value = indices[edge], data[edge]
            if value > floor or (value == floor and item <= last):
                ascending &= size == 0 or out_ids[row, size - 1] < item
                out_ids[row, size], out_values[row, size] = item, value
                size += 1
        if not ascending:
            order = np.argsort(out_ids[row, :size])
            out_ids[row, :size] = out_ids[row, :size][order]
            out_values[row, :size] = out_values[row, :size][order]
        sizes[row] = size


def top_of_sparse_rows(matrix: sparse.csr_array, k: int) -> sparse.csr_array:
    """Each row cut to its k largest entries, ties to the smaller column."""
    n = matrix.shape[0]
    widest = int(np.diff(matrix.indptr).max(initial=0))
    k = min(k, widest)
    ids = np.empty((n, k), np.int32)
    values = np.empty((n, k), np.float32)
    sizes = np.zeros(n, np.int64)
    if k > 0:
        _top_rows(*parts(matrix), k, ids, values, sizes)
    return pack(ids, values, sizes, matrix.shape[1])


def scale_rows(matrix: sparse.csr_array, norm: str = "l1") -> sparse.csr_array:
    """Each row divided by its l1 or l2 norm; empty rows stay empty."""
    indptr, _, data = parts(matrix)
    scaled = np.empty(len(data), np.float32)
    _scale(indptr, data, norm == "l1", scaled)
    return sparse.csr_array((scaled, matrix.indices, matrix.indptr), shape=matrix.shape)


@njit(cache=True, parallel=True)
def _scale(indptr: AnyArray, data: Float32Array, l1: bool, scaled: Float32Array) -> None:
    for row in prange(indptr.shape[0] - 1):
        total = 0.0
        for place in range(indptr[row], indptr[row + 1]):
            value = np.float64(data[place])
            total += abs(value) if l1 else value * value
        length = total if l1 else np.sqrt(total)
        for place in range(indptr[row], indptr[row + 1]):
            scaled[place] = data[place] / length if length > 0 else data[place]


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
