"""Each row of a sparse matrix by itself: its largest entries, its norm, its values at given places."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from scipy import sparse

from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray
from foldwalk.walk.csr import parts
from foldwalk.walk.rows import CHUNKS, pack, room
from foldwalk.walk.select import LAST, border


@njit(cache=True, parallel=True)
def _top_rows(
    indptr: AnyArray,
    indices: AnyArray,
    data: AnyArray,
    out_ids: Int32Array,
    out_values: Float32Array,
    sizes: IntArray,
) -> None:
    cap = out_ids.shape[1]
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
    k = min(k, int(np.diff(matrix.indptr).max(initial=0)))
    written = room(matrix.shape[0], k)
    if k > 0:
        _top_rows(*parts(matrix), *written)
    return pack(*written, matrix.shape[1])


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


def sum_of_largest(matrix: sparse.csr_array, k: int) -> Float32Array:
    """The sum of the k largest entries of each row."""
    sums = np.empty(matrix.shape[0], np.float32)
    _sum_of_largest(*parts(matrix), k, sums)
    return sums


@njit(cache=True, parallel=True)
def _sum_of_largest(
    indptr: IntArray, _indices: Int32Array, data: Float32Array, k: int, sums: Float32Array
) -> None:
    for row in prange(indptr.shape[0] - 1):
        sums[row] = np.sort(data[indptr[row] : indptr[row + 1]])[::-1][:k].sum()


def values_at(matrix: sparse.csr_array, pattern: sparse.csr_array) -> sparse.csr_array:
    """The entries of a matrix where another has some; zero where it has none itself."""
    values = np.zeros(pattern.nnz, np.float32)
    _values_at(*parts(matrix), *parts(pattern)[:2], pattern.shape[1], values)
    return sparse.csr_array((values, pattern.indices, pattern.indptr), shape=pattern.shape)


@njit(cache=True, parallel=True)
def _values_at(
    indptr: AnyArray,
    indices: AnyArray,
    data: AnyArray,
    p_indptr: AnyArray,
    p_indices: AnyArray,
    columns: int,
    out: AnyArray,
) -> None:
    n = p_indptr.shape[0] - 1
    for chunk in prange(CHUNKS):
        first, last = chunk * n // CHUNKS, (chunk + 1) * n // CHUNKS
        if first == last:
            continue
        scratch = np.zeros(columns, np.float32)
        for row in range(first, last):
            for edge in range(indptr[row], indptr[row + 1]):
                scratch[indices[edge]] = data[edge]
            for place in range(p_indptr[row], p_indptr[row + 1]):
                out[place] = scratch[p_indices[place]]
            for edge in range(indptr[row], indptr[row + 1]):
                scratch[indices[edge]] = 0
