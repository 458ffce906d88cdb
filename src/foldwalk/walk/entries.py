"""Single entries of sparse rows, looked up by column."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray, Scalar


@njit()
def entry(
    indptr: AnyArray, indices: AnyArray, data: AnyArray, row: Scalar, column: Scalar, otherwise: Scalar
) -> Scalar:
    """The stored entry of a row whose columns ascend, or `otherwise`."""
    begin, end = indptr[row], indptr[row + 1]
    place = begin + np.searchsorted(indices[begin:end], column)
    return data[place] if place < end and indices[place] == column else otherwise


@njit(cache=True, parallel=True)
def entries(
    indptr: IntArray,
    indices: Int32Array,
    data: Float32Array,
    rows: IntArray,
    asked: IntArray,
    columns: Int32Array,
    otherwise: Float32Array,
    own: Scalar,
) -> Scalar:
    """Of rows[q] the entries at columns[asked[q] : asked[q + 1]]; `own` is the value of a row at itself."""
    out = np.empty(columns.shape[0], np.float32)
    for q in prange(rows.shape[0]):
        row = rows[q]
        for place in range(asked[q], asked[q + 1]):
            column = columns[place]
            out[place] = own if column == row else entry(indptr, indices, data, row, column, otherwise[row])
    return out
