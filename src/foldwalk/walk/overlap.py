"""How much two sparse rows overlap, through an inverted list: only pairs that share a column are visited.

For query rows A and item rows B (both >= 0):

    "product"         sum_j a_j b_j
    "minimum"         sum_j min(a_j, b_j)
    "jensen_shannon"  1/2 sum_j (a_j + b_j) H2(a_j / (a_j + b_j))  over common j

where H2 is the binary entropy in bits. For rows that sum to one, the Jensen-Shannon divergence (base 2) is
one minus the last: a column held by one row alone adds a_j / 2 to it, which is what the common ones lack.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Literal

import numpy as np
from numba import njit, prange
from scipy import sparse

from foldwalk.core.errors import BadInput
from foldwalk.core.types import Float32Array, Int32Array, IntArray, Scalar
from foldwalk.walk.csr import Parts, csr, parts
from foldwalk.walk.rows import CHUNKS

Measure = Literal["product", "minimum", "jensen_shannon"]
_CODES = {"product": 0, "minimum": 1, "jensen_shannon": 2}

# H2 at 4097 points: linear interpolation is within 2e-5 everywhere but the outermost cells.
_RESOLUTION = 4096
LN2 = math.log(2.0)


def _entropy_table() -> Float32Array:
    p = np.arange(1, _RESOLUTION) / _RESOLUTION
    inner = -p * np.log2(p) - (1 - p) * np.log2(1 - p)
    return np.concatenate([[0], inner, [0], [0]]).astype(np.float32)


ENTROPY = _entropy_table()


@njit()
def binary_entropy(share: Scalar, table: Float32Array) -> Scalar:
    """H2(share) in bits: looked up, but computed where the curve is too steep for the table."""
    if share < 0.02 or share > 0.98:
        part, rest = float(share), 1.0 - float(share)
        if part <= 0.0 or rest <= 0.0:
            return np.float32(0)
        return np.float32(-(part * math.log(part) + rest * math.log(rest)) / LN2)
    position = share * np.float32(_RESOLUTION)
    cell = int(position)
    return table[cell] + (position - cell) * (table[cell + 1] - table[cell])


@njit()
def common_bits(a: Scalar, b: Scalar, table: Float32Array) -> Scalar:
    """What a column held by two rows takes off their Jensen-Shannon divergence; a stored zero nothing."""
    if a <= 0 or b <= 0:
        return np.float32(0)
    return np.float32(0.5) * (a + b) * binary_entropy(a / (a + b), table)


@njit()
def _combine(a: Scalar, b: Scalar, code: Scalar, table: Float32Array) -> Scalar:
    if code == 0:
        return a * b
    if code == 1:
        return min(a, b)
    return common_bits(a, b, table)


@njit(cache=True, parallel=True)
def _overlap(
    queries: Parts,
    holders: Parts,
    items: int,
    code: int,
    table: Float32Array,
    ends: IntArray,
    out_ids: Int32Array | None,
    out_values: Float32Array | None,
) -> None:
    """List and sum, for each row, the items that share a column with it; without an output, count them.

    `ends` says where the entries of each row begin, and afterwards where they end.
    """
    q_indptr, q_indices, q_data = queries
    l_indptr, l_items, l_data = holders
    n = ends.shape[0]
    for chunk in prange(CHUNKS):
        first, last = chunk * n // CHUNKS, (chunk + 1) * n // CHUNKS
        if first == last:
            continue
        stamp, sums = np.full(items, -1, np.int32), np.zeros(items, np.float32)
        for row in range(first, last):
            begin = end = ends[row]
            for edge in range(q_indptr[row], q_indptr[row + 1]):
                column, value = q_indices[edge], q_data[edge]
                for place in range(l_indptr[column], l_indptr[column + 1]):
                    item = l_items[place]
                    if stamp[item] != row:
                        stamp[item] = row
                        if out_ids is not None:
                            sums[item] = 0
                            out_ids[end] = item
                        end += 1
                    if out_ids is not None:
                        sums[item] += _combine(value, l_data[place], code, table)
            ends[row] = end
            if out_ids is not None and out_values is not None:
                for place in range(begin, end):
                    out_values[place] = sums[out_ids[place]]


def multiply(left: sparse.csr_array, right: sparse.csr_array) -> sparse.csr_array:
    """left @ right with nothing cut off; the columns of a row stand in no order."""
    return _combined(left, parts(right), right.shape[1], _CODES["product"])


def _combined(left: sparse.csr_array, right: Parts, columns: int, code: int) -> sparse.csr_array:
    kernel = partial(_overlap, parts(left), right, columns, code, ENTROPY)
    indptr = np.zeros(left.shape[0] + 1, np.int64)
    kernel(indptr[1:], None, None)
    np.cumsum(indptr, out=indptr)
    ids, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)
    kernel(indptr[:-1].copy(), ids, values)
    return csr(indptr, ids, values, columns)


class InvertedList:
    """Item rows turned around: for each column the items that hold it. Built once, asked many times.

    `order`, if given, says which item each row belongs to.
    """

    def __init__(self, rows: sparse.csr_array, order: Int32Array | None = None) -> None:
        self.items, self.order = int(rows.shape[0]), order
        self.holders = parts(rows.T.tocsr())

    def overlap(self, queries: sparse.csr_array, measure: Measure) -> sparse.csr_array:
        """(q, items): the measure for every item that shares a column with the query (columns unsorted)."""
        if measure not in _CODES:
            raise BadInput(f"measure must be one of {', '.join(_CODES)}, but it is {measure!r}.")
        found = _combined(queries, self.holders, self.items, _CODES[measure])
        if self.order is not None:
            found.indices = self.order[found.indices]
        return found
