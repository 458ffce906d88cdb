"""The anchor graph: each item as a mixture of its few nearest anchors.

Liu, He and Chang, "Large graph construction for scalable semi-supervised learning", ICML 2010 (local anchor
embedding); GRAD-Net, eq. 9. The anchors are k-means centres; the weights of item x solve

    min |x - U z|^2   with  z >= 0,  sum z = 1,  z only on the c nearest anchors,

by moving weight between pairs of anchors. Rows of the result sum to one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange
from scipy import sparse

from foldwalk.core.errors import BadInput
from foldwalk.core.seeds import check_seed
from foldwalk.core.types import Float32Array, Float64Array
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors.exact import exact_search
from foldwalk.walk.simplex import simplex_least_squares


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
    from sklearn.cluster import KMeans, MiniBatchKMeans  # takes its time: only when needed

    count = _count_distinct(vectors, anchors)
    algorithm = KMeans if len(vectors) <= 50_000 else MiniBatchKMeans
    means = algorithm(n_clusters=count, n_init=1, random_state=check_seed(seed)).fit(vectors.values)
    centres = Vectors.check(means.cluster_centers_, name="anchors")
    return AnchorGraph(centres, local_anchor_embedding(vectors, centres, nearest), nearest)


def _count_distinct(vectors: Vectors, most: int) -> int:
    """How many different vectors there are, counted up to `most`: k-means cannot have more centres."""
    seen: set[bytes] = set()
    for row in vectors.values:
        seen.add(row.tobytes())
        if len(seen) == most:
            break
    return len(seen)


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
        weights[row] = simplex_least_squares(gram)
