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
    zeros: AnyArray,
) -> Scalar:
    """The divergence of each query's row, columns[begin : end], and those that are listed for it, (q, c).

    `zeros`, a row for each thread with a place for every column, is zero before and after.
    """
    lengths = np.ones(listed.shape, np.float32)
    count, threads = listed.shape[0], zeros.shape[0]
    for thread in prange(threads):
        mine = zeros[thread]
        for q in range(thread * count // threads, (thread + 1) * count // threads):
            for place in range(begin[q], end[q]):
                mine[columns[place]] = values[place]
            for other in range(listed.shape[1]):
                j = listed[q, other]
                if j >= 0:
                    common = np.float32(0)
                    for place in range(indptr[j], indptr[j + 1]):
                        common += common_bits(mine[indices[place]], data[place], table)
                    lengths[q, other] = _divergence(common)
            for place in range(begin[q], end[q]):
                mine[columns[place]] = 0
    return lengths
