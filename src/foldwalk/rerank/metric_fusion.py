"""Several features of the same items: their distances fused into one matrix, for `fit`.

    fuse_distances      the mean of distances, each over its own typical one; `fit(distances=...)` takes it
    fuse_by_diffusion   a walk that steps by one feature on one side of a pair and by another on the other:
                        similarities, which `fit(graph=...)` takes

The second is Y. Zhou, X. Bai, W. Liu and L. J. Latecki, "Fusion with diffusion for robust visual tracking",
NIPS 2012 (named in section 2 of the CAS paper). For features a and b, with A the transition probabilities of
TPG (`diffusion/tpg.py`, which is the case a = b):

    Q <- A_a Q A_b' + I,      whose limit is      Q = sum_t A_a^t (A_b')^t,

summed over all ordered pairs of two features, so that the result is symmetric. Two items are alike when a
neighbour of one by feature a is alike to a neighbour of the other by feature b: what only one feature finds
near is not carried far.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from foldwalk.core.errors import BadInput
from foldwalk.core.vectors import read_array
from foldwalk.rerank.diffusion.tpg import TPG
from foldwalk.rerank.precomputed import read_distances, typical
from foldwalk.walk.series import two_sided_series


def fuse_distances(distances: Sequence[Any], weights: npt.ArrayLike | None = None) -> Any:
    """The mean of n x n distances by several features, each over the median of its own.

    All dense, and so is the mean; or all sparse, and it has every pair that one of them has. To the others
    the pair is as far apart as the farthest of its row. `weights`, one per matrix, are brought to sum one.

    >>> fuse_distances([[[0, 2], [2, 0]], [[0, 30], [10, 0]]], weights=[3, 1]).tolist()
    [[0.0, 1.125], [0.875, 0.0]]
    """
    known = _read_all(distances)
    shares = np.ones(len(known)) if weights is None else read_array(weights, "weights").astype(np.float64)
    if shares.shape != (len(known),) or not (shares >= 0).all() or not 0 < shares.sum() < np.inf:
        raise BadInput(f"weights must be {len(known)} numbers from 0 on that are not all zero.")
    patterns = [sparse.csr_array((np.ones(m.nnz), m.indices, m.indptr), shape=m.shape) for m in known]
    fused = sparse.csr_array(sum(patterns[1:], start=patterns[0]), copy=True)
    fused.sort_indices()
    row_of = np.repeat(np.arange(fused.shape[0]), np.diff(fused.indptr))
    fused.data = np.zeros(fused.nnz)
    for matrix, pattern, share in zip(known, patterns, shares / shares.sum(), strict=True):
        farthest = np.asarray(matrix.max(axis=1).todense()).ravel()
        has = np.asarray(pattern[row_of, fused.indices]) > 0
        own = np.where(has, matrix[row_of, fused.indices], farthest[row_of])
        fused.data += share / typical(matrix.data) * own
    return fused if sparse.issparse(distances[0]) else fused.toarray()


def fuse_by_diffusion(
    distances: Sequence[Any], k: int = 10, steps: int = 20, keep: int = 300
) -> sparse.csr_array:
    """Similarities from 0 to 1 by a walk over pairs that changes between features; k and the rest as in TPG.

    Each row keeps its `keep` largest, and what no walk reaches has no entry: rank no further than that.
    """
    known = _read_all(distances)
    if len(known) < 2:
        raise BadInput("fusion by diffusion takes the distances of two features or more.")
    longest = min(int(np.diff(matrix.indptr).max(initial=0)) for matrix in known)
    wide = max(1, min(TPG().params.wide, longest + 1))
    edges = [TPG(k=k, wide=wide).fit(distances=matrix).transitions for matrix in known]
    start = sparse.csr_array(sparse.eye_array(known[0].shape[0], dtype=np.float32))
    every = [
        two_sided_series(one, other.T.tocsr(), start, np.ones(steps), keep)
        for one, other in permutations(edges, 2)
    ]
    fused = sparse.csr_array(sum(every[1:], start=every[0]))
    fused = sparse.csr_array(fused + fused.T)  # symmetric but for what was cut
    fused.setdiag(0)
    fused.eliminate_zeros()
    fused.data /= fused.data.max(initial=np.float32(1e-30))
    return fused


def _read_all(distances: Sequence[Any]) -> list[sparse.csr_array]:
    if not isinstance(distances, (list, tuple)) or not len(distances):
        raise BadInput("distances must be a list of matrices, one per feature.")
    if len({sparse.issparse(matrix) for matrix in distances}) > 1:
        raise BadInput("distances must be all dense or all sparse: make graphs of the dense ones as well.")
    known = [read_distances(matrix, f"distances, matrix {i}") for i, matrix in enumerate(distances)]
    for i, matrix in enumerate(known):
        if matrix.shape != known[0].shape:
            raise BadInput(
                f"distances, matrix {i} has {matrix.shape[0]} items, but the first has {known[0].shape[0]}."
            )
    return known
