"""k-NN lists and edge weights to an affinity graph."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import sparse

from foldwalk.core.errors import BadInput
from foldwalk.core.graph import Graph
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import Float32Array
from foldwalk.walk.csr import csr

Links = Literal["union", "mutual", "directed"]


def as_rows(neighbors: Neighbors, weights: Float32Array, columns: int) -> sparse.csr_array:
    """Neighbour lists with a weight each as sparse rows; absent neighbours and zero weights left out."""
    keep = (neighbors.ids >= 0) & (weights > 0)
    indptr = np.zeros(len(neighbors) + 1, np.int64)
    np.cumsum(keep.sum(axis=1), out=indptr[1:])
    rows = csr(indptr, neighbors.ids[keep], weights[keep], columns)
    rows.sort_indices()
    return rows


def knn_affinity(neighbors: Neighbors, weights: Float32Array, links: Links = "mutual") -> Graph:
    """Join each item to its neighbours.

    "mutual": an edge where each is among the other's neighbours; "union": where either is; the weight is the
    mean (mutual) or the larger (union) of the two directions. "directed": row i holds i's own neighbours.
    Weights of zero or less are no edges.
    """
    if links not in ("union", "mutual", "directed"):
        raise BadInput(f"links must be union, mutual or directed, but it is {links!r}.")
    directed = as_rows(neighbors, weights.astype(np.float32, copy=False), len(neighbors))
    if links == "directed":
        matrix = directed
    else:
        backward = directed.T.tocsr()
        if links == "union":
            matrix = directed.maximum(backward)
        else:
            matrix = (directed + backward) * np.float32(0.5)
            both = directed.astype(bool).multiply(backward.astype(bool))
            matrix = sparse.csr_array(matrix.multiply(both))
        matrix = sparse.csr_array(matrix, dtype=np.float32)
        matrix.eliminate_zeros()
        matrix.sort_indices()
    return Graph(matrix, (f"{neighbors.how} k={neighbors.k}", links))
