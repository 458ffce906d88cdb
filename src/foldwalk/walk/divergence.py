"""Jensen-Shannon divergences (base 2) of sparse rows that sum to one, for listed pairs of them."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray, Scalar
from foldwalk.walk.overlap import common_bits
from foldwalk.walk.rows import CHUNKS

SMALLEST = np.float32(1e-9)  # above zero: an entry of a sparse matrix, a step of a path


@njit()
def _divergence(common: Scalar) -> Scalar:
    """What the bits in common leave."""
    return min(max(np.float32(1) - common, SMALLEST), np.float32(1))


@njit()
def divergence(
    a_ids: AnyArray, a_values: AnyArray, b_ids: AnyArray, b_values: AnyArray, table: Float32Array
) -> Scalar:
    """Jensen-Shannon divergence (base 2) of two rows with ascending ids that sum to one."""
    i, j, common = 0, 0, np.float32(0)
    while i < a_ids.shape[0] and j < b_ids.shape[0]:
        if a_ids[i] < b_ids[j]:
            i += 1
        elif a_ids[i] > b_ids[j]:
            j += 1
        else:
            common += common_bits(a_values[i], b_values[j], table)
            i += 1
            j += 1
    return _divergence(common)


@njit(cache=True, parallel=True)
def divergences_within(
    n_indptr: AnyArray,
    n_indices: AnyArray,
    indptr: AnyArray,
    indices: AnyArray,
    data: AnyArray,
    table: Float32Array,
    lengths: Float32Array,
) -> None:
    """The divergence of each row of a matrix and those that a pattern lists for it."""
    n = n_indptr.shape[0] - 1
    for chunk in prange(CHUNKS):
        first, last = chunk * n // CHUNKS, (chunk + 1) * n // CHUNKS
        if first == last:
            continue
        mine = np.zeros(n, np.float32)
        for i in range(first, last):
            for place in range(indptr[i], indptr[i + 1]):
                mine[indices[place]] = data[place]
            for edge in range(n_indptr[i], n_indptr[i + 1]):
                j = n_indices[edge]
                lengths[edge] = 0
                # An edge that both list is measured once, from its smaller end.
                if j < i and i in n_indices[n_indptr[j] : n_indptr[j + 1]]:
                    continue
                common = np.float32(0)
                for place in range(indptr[j], indptr[j + 1]):
                    common += common_bits(mine[indices[place]], data[place], table)
                lengths[edge] = _divergence(common)
            for place in range(indptr[i], indptr[i + 1]):
                mine[indices[place]] = 0


@njit(cache=True, parallel=True)
def divergences_to(
    listed: Int32Array,
    begin: IntArray,
    end: IntArray,
    columns: AnyArray,
    values: Float32Array,
    indptr: AnyArray,
    indices: AnyArray,
    data: AnyArray,
    table: Float32Array,
) -> Scalar:
    """The divergence of each query's row, columns[begin : end], and those that are listed for it, (q, c)."""
    lengths = np.ones(listed.shape, np.float32)
    for q in prange(listed.shape[0]):
        mine = slice(begin[q], end[q])
        for place in range(listed.shape[1]):
            j = listed[q, place]
            if j >= 0:
                other = slice(indptr[j], indptr[j + 1])
                lengths[q, place] = divergence(
                    columns[mine], values[mine], indices[other], data[other], table
                )
    return lengths
