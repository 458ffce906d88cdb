"""The anchor graph: each item as a mixture of its few nearest anchors.

Liu, He and Chang, "Large graph construction for scalable semi-supervised learning", ICML 2010 (local anchor
embedding); GRAD-Net, eq. 9. The anchors are k-means centres; the weights of item x solve

    min |x - U z|^2   with  z >= 0,  sum z = 1,  z only on the c nearest anchors,

by accelerated projected gradient. Rows of the result sum to one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange
from scipy import sparse
from sklearn.cluster import KMeans, MiniBatchKMeans

from foldwalk.core.errors import BadInput
from foldwalk.core.seeds import check_seed
from foldwalk.core.types import Float32Array, Float64Array
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors.exact import exact_search


@dataclass(frozen=True, eq=False)
class AnchorGraph:
    """`anchors` (B, d) and `weights` (n, B), a sparse matrix of c entries a row."""

    anchors: Vectors
    weights: sparse.csr_array
    nearest: int

    def embed(self, vectors: Vectors) -> sparse.csr_array:
        """Weights of items that were not there when the anchors were chosen."""
        return local_anchor_embedding(vectors, self.anchors, self.nearest)


def anchor_graph(vectors: Vectors, anchors: int = 100, nearest: int = 3, seed: int = 0) -> AnchorGraph:
    """Choose anchors by k-means and express every item by its nearest ones."""
    if anchors < 1 or nearest < 1:
        raise BadInput(f"anchors ({anchors}) and nearest ({nearest}) must be at least 1.")
    distinct = len(np.unique(vectors.values, axis=0)) if len(vectors) <= 2 * anchors else len(vectors)
    count = min(anchors, distinct)
    algorithm = KMeans if len(vectors) <= 50_000 else MiniBatchKMeans
    means = algorithm(n_clusters=count, n_init=1, random_state=check_seed(seed)).fit(vectors.values)
    centres = Vectors.check(means.cluster_centers_, name="anchors")
    return AnchorGraph(centres, local_anchor_embedding(vectors, centres, nearest), nearest)


def local_anchor_embedding(vectors: Vectors, anchors: Vectors, nearest: int = 3) -> sparse.csr_array:
    """Eq. 9 for every item: (n, B) with at most `nearest` entries a row, non-negative, rows sum to 1."""
    count = min(nearest, len(anchors))
    ids = exact_search(anchors, vectors, count, "euclidean").ids
    weights = np.empty(ids.shape, np.float64)
    _solve_rows(vectors.values, anchors.values, ids, weights)
    rows = np.repeat(np.arange(len(vectors)), count)
    matrix = sparse.csr_array(
        (weights.ravel().astype(np.float32), (rows, ids.ravel())), shape=(len(vectors), len(anchors))
    )
    matrix.eliminate_zeros()
    return matrix


@njit(cache=True)
def project_to_simplex(point: Float64Array) -> Float64Array:
    """The nearest point with non-negative entries that sum to one (Duchi et al. 2008)."""
    descending = np.sort(point)[::-1]
    total, shift = 0.0, 0.0
    for i in range(len(point)):
        total += descending[i]
        candidate = (total - 1.0) / (i + 1)
        if descending[i] > candidate:
            shift = candidate
    return np.maximum(point - shift, 0.0)


@njit(cache=True, parallel=True)
def _solve_rows(x: Float32Array, anchors: Float32Array, ids: np.ndarray, weights: Float64Array) -> None:
    c = ids.shape[1]
    for row in prange(x.shape[0]):
        # Distances from x itself: z sums to one, so |x - U z| = |sum z_a (u_a - x)|, well conditioned.
        gram = np.zeros((c, c))
        for a in range(c):
            for b in range(a, c):
                total = 0.0
                for i in range(x.shape[1]):
                    total += (anchors[ids[row, a], i] - x[row, i]) * (anchors[ids[row, b], i] - x[row, i])
                gram[a, b] = total
                gram[b, a] = total
        weights[row] = _simplex_least_squares(gram)


@njit(cache=True)
def _simplex_least_squares(gram: Float64Array) -> Float64Array:
    """min z' G z over the simplex, by projected gradient with Nesterov's momentum and restarts."""
    c = gram.shape[0]
    z = np.full(c, 1.0 / c)
    step = 0.0
    for a in range(c):
        step += gram[a, a]
    if step <= 0.0:
        return z
    step = 0.5 / step
    ahead = z.copy()
    momentum = 1.0
    for _ in range(2000):
        following = project_to_simplex(ahead - step * 2.0 * (gram @ ahead))
        change = following - z
        if np.dot(ahead - following, change) > 0.0:
            momentum = 1.0
        later = (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum)) / 2.0
        ahead = following + (momentum - 1.0) / later * change
        z = following
        momentum = later
        if np.max(np.abs(change)) < 1e-10:
            break
    return z
