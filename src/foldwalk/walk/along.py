"""How alike two sparse rows are, for the pairs that the edges of a graph name."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from scipy import sparse

from foldwalk.core.types import Float32Array
from foldwalk.walk.csr import Parts, parts
from foldwalk.walk.rows import CHUNKS


def products_along(edges: sparse.csr_array, rows: sparse.csr_array) -> sparse.csr_array:
    """The dot products of rows i and j of a matrix, wherever `edges` has an entry (i, j)."""
    products = np.empty(edges.nnz, np.float32)
    _products(parts(edges), parts(rows), rows.shape[1], products)
    return sparse.csr_array((products, edges.indices, edges.indptr), shape=edges.shape)


@njit(cache=True, parallel=True)
def _products(edges: Parts, rows: Parts, columns: int, products: Float32Array) -> None:
    e_indptr, e_indices, _ = edges
    indptr, indices, data = rows
    n = e_indptr.shape[0] - 1
    for chunk in prange(CHUNKS):
        first, last = chunk * n // CHUNKS, (chunk + 1) * n // CHUNKS
        if first == last:
            continue
        mine = np.zeros(columns, np.float32)
        for i in range(first, last):
            for place in range(indptr[i], indptr[i + 1]):
                mine[indices[place]] = data[place]
            for edge in range(e_indptr[i], e_indptr[i + 1]):
                other, total = e_indices[edge], np.float32(0)
                for place in range(indptr[other], indptr[other + 1]):
                    total += data[place] * mine[indices[place]]
                products[edge] = total
            for place in range(indptr[i], indptr[i + 1]):
                mine[indices[place]] = 0
