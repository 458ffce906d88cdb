"""Sparse matrices from and to the arrays of kernels, always of the same types: one compiled form each."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from foldwalk.core.types import Float32Array, Int32Array, IntArray

# indptr, indices and data of a CSR matrix, as kernels take them.
Parts = tuple[IntArray, Int32Array, Float32Array]


def csr(indptr: IntArray, indices: Int32Array, data: Float32Array, columns: int) -> sparse.csr_array:
    """A CSR matrix of these arrays, which are not copied.

    scipy gives the columns the type of the row pointers: wide ones would double what a matrix takes.
    """
    if indptr[-1] < 2**31:
        indptr = indptr.astype(np.int32)
    return sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, columns))


def parts(matrix: sparse.csr_array) -> Parts:
    """indptr (int64), indices (int32) and data (float32) of a CSR matrix."""
    return (
        matrix.indptr.astype(np.int64, copy=False),
        matrix.indices.astype(np.int32, copy=False),
        matrix.data.astype(np.float32, copy=False),
    )
