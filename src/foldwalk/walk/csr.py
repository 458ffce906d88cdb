"""A sparse matrix as the arrays that kernels take, always of the same types: one compiled form each."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from foldwalk.core.types import Float32Array, Int32Array, IntArray


def parts(matrix: sparse.csr_array) -> tuple[IntArray, Int32Array, Float32Array]:
    """indptr (int64), indices (int32) and data (float32) of a CSR matrix."""
    return (
        matrix.indptr.astype(np.int64, copy=False),
        matrix.indices.astype(np.int32, copy=False),
        matrix.data.astype(np.float32, copy=False),
    )
