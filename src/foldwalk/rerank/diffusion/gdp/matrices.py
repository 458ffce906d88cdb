"""The matrices a diffusion may start from and step with (Donoser and Bischof 2013, section 2).

    affinity     A          as it is
    identity     I          (start only)
    random_walk  P          D^-1 A
    pagerank     P_ppr      (1 - alpha) (I - alpha P)^-1, the personalised PageRank of every item
    symmetric    P_nc       D^-1/2 A D^-1/2
    knn          P_knn      the k largest affinities of each row, scaled to sum one
    dominant     P_ds       of those k, the ones that hang together most, scaled to sum one

Dominant neighbours (Yang and Latecki 2011): among the k of a row, without their affinities to themselves, the
weights x that maximise x' A x on the simplex are found by replicator dynamics, x_i <- x_i (A x)_i / x' A x;
the neighbours that keep weight stay.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from scipy import sparse

from foldwalk.core.graph import Graph
from foldwalk.core.types import AnyArray, BoolArray
from foldwalk.graph import normalise
from foldwalk.walk import push_diffusion, scale_rows, top_of_sparse_rows
from foldwalk.walk.csr import parts
from foldwalk.walk.entries import entry

PUSH_THRESHOLD = 1e-6
ROUNDS = 1000
SETTLED = 1e-9
SUPPORT = 1e-4


def diffusion_matrix(
    affinity: sparse.csr_array, name: str, k: int, alpha: float, keep: int
) -> sparse.csr_array:
    """One of the matrices above, by its name."""
    if name == "affinity":
        return affinity
    if name == "identity":
        return sparse.eye_array(affinity.shape[0], format="csr", dtype=np.float32)
    if name == "random_walk":
        return scale_rows(affinity)
    if name == "symmetric":
        return normalise(Graph(affinity), "symmetric").matrix
    if name == "pagerank":
        identity = sparse.eye_array(affinity.shape[0], format="csr", dtype=np.float32)
        visits = push_diffusion(scale_rows(affinity), identity, alpha, PUSH_THRESHOLD, keep)
        return sparse.csr_array(visits * np.float32(1 - alpha))
    nearest = top_of_sparse_rows(affinity, k)
    return scale_rows(nearest if name == "knn" else _dominant(affinity, nearest))


def _dominant(affinity: sparse.csr_array, nearest: sparse.csr_array) -> sparse.csr_array:
    kept = np.zeros(nearest.nnz, np.bool_)
    _replicate(*parts(affinity), *parts(nearest)[:2], kept)
    result = sparse.csr_array(
        (np.where(kept, nearest.data, 0), nearest.indices, nearest.indptr), nearest.shape
    )
    result.eliminate_zeros()
    return result


@njit(cache=True, parallel=True)
def _replicate(
    indptr: AnyArray,
    indices: AnyArray,
    data: AnyArray,
    near_indptr: AnyArray,
    near: AnyArray,
    kept: BoolArray,
) -> None:
    """Marks the dominant among the neighbours of each row."""
    for row in prange(near_indptr.shape[0] - 1):
        begin, size = near_indptr[row], near_indptr[row + 1] - near_indptr[row]
        inside = np.zeros((size, size))
        for a in range(size):
            for b in range(size):
                if a != b:
                    here, there = near[begin + a], near[begin + b]
                    inside[a, b] = entry(indptr, indices, data, here, there, np.float32(0))
        x = np.full(size, 1.0 / max(size, 1))
        for _ in range(ROUNDS):
            pull = inside @ x
            cohesion = x @ pull
            if cohesion <= 0:
                break
            after = x * pull / cohesion
            moved = np.abs(after - x).sum()
            x = after
            if moved < SETTLED:
                break
        for a in range(size):
            kept[begin + a] = x[a] > SUPPORT
