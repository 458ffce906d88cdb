"""Sparse rows times sparse matrices, once or again and again, each row cut to its largest entries.

Rows come out with ascending column ids.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from scipy import sparse

from foldwalk.core.types import Float32Array, Int32Array, IntArray, Scalar
from foldwalk.walk.csr import Parts, parts
from foldwalk.walk.rows import CHUNKS, add_rows, keep_largest, rows_of, scatter


@njit(cache=True, parallel=True)
def _multiply(
    left: Parts,
    right: Parts,
    threshold: Scalar,
    columns: int,
    out_ids: Int32Array,
    out_values: Float32Array,
    sizes: IntArray,
) -> None:
    indptr, indices, data = left
    n, cap = out_ids.shape
    for chunk in prange(CHUNKS):
        first, last = chunk * n // CHUNKS, (chunk + 1) * n // CHUNKS
        if first == last:
            continue
        scratch = np.zeros(columns, np.float32)
        touched = np.empty(columns + 1, np.int32)
        for row in range(first, last):
            begin, end = indptr[row], indptr[row + 1]
            count = add_rows(indices, data, begin, end, np.float32(1), right, scratch, touched, 0)
            sizes[row] = keep_largest(scratch, touched, count, cap, threshold, out_ids[row], out_values[row])


def multiply_capped(
    left: sparse.csr_array, right: sparse.csr_array, cap: int, threshold: float = 0.0
) -> sparse.csr_array:
    """left @ right, both >= 0, with the `cap` largest entries above `threshold` of each row kept."""
    return rows_of(_multiply, left, right.shape[1], cap, parts(right), np.float32(threshold))


@njit(cache=True, parallel=True)
def _series(
    starts: Parts,
    matrix: Parts,
    alpha: Scalar,
    terms: int,
    threshold: Scalar,
    columns: int,
    out_ids: Int32Array,
    out_values: Float32Array,
    sizes: IntArray,
) -> None:
    start_indptr, start_indices, start_data = starts
    n, cap = out_ids.shape
    for chunk in prange(CHUNKS):
        first, last = chunk * n // CHUNKS, (chunk + 1) * n // CHUNKS
        if first == last:
            continue
        total, step = np.zeros(columns, np.float32), np.zeros(columns, np.float32)
        in_total, in_step = np.empty(columns + 1, np.int32), np.empty(columns + 1, np.int32)
        front_ids, front_values = np.empty(columns, np.int32), np.empty(columns, np.float32)
        for row in range(first, last):
            begin, end = start_indptr[row], start_indptr[row + 1]
            reached = scatter(start_indices, start_data, begin, end, np.float32(1), total, in_total, 0)
            front = reached
            for t in range(reached):
                front_ids[t] = in_total[t]
                front_values[t] = total[in_total[t]]
            for _ in range(terms):
                count = add_rows(front_ids, front_values, 0, front, alpha, matrix, step, in_step, 0)
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
    numbers = np.float32(alpha), terms, np.float32(threshold)
    return rows_of(_series, starts, starts.shape[1], cap, parts(matrix), *numbers)
