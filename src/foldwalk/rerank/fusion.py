"""A closeness on sparse rows fused with the plain distance: the last step of the contextual methods."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, Float32Array, IntArray, Scalar
from foldwalk.core.vectors import Vectors
from foldwalk.machine.products import product
from foldwalk.neighbors.exact import exact_search
from foldwalk.rerank.order import Reached
from foldwalk.walk.csr import parts

BLOCK = 4096


def distance_from_similarity(similarity: Float32Array, metric: str) -> Float32Array:
    """Squared Euclidean distance of the pair."""
    if metric == "cosine":
        return np.maximum(2 - 2 * similarity, np.float32(0))
    return np.asarray((1 / np.maximum(similarity, np.float32(1e-30)) - 1) ** 2, dtype=np.float32)


@njit()
def squared_distance(similarity: Scalar, cosine: Scalar) -> Scalar:
    """`distance_from_similarity` of one pair, for kernels."""
    if cosine:
        return max(np.float32(2) - np.float32(2) * similarity, np.float32(0))
    return (np.float32(1) / similarity - np.float32(1)) ** 2


def row_maximum(sample: Vectors, queries: Vectors, found: Neighbors) -> Float32Array:
    """The largest squared distance from each query to any item; it only sets a scale.

    `found` are the queries' neighbours, which know the farthest item where there are few enough; otherwise
    it is looked for in the sample.
    """
    least = found.least
    if least is None and found.metric == "cosine":
        blocks = (queries.values[first : first + BLOCK] for first in range(0, len(queries), BLOCK))
        least = np.concatenate([product(block, sample.values).min(axis=1) for block in blocks])
    elif least is None:
        least = exact_search(sample, queries, 1, found.metric).least
    largest = distance_from_similarity(np.asarray(least), found.metric)
    return np.where(largest > 0, largest, np.float32(1))


def fuse(
    closeness: sparse.csr_array,
    plain: Neighbors,
    similarities_of: Callable[[IntArray, AnyArray], Float32Array],
    scale: Float32Array,
    weight: float,
    top: int,
    candidates: int,
    own: IntArray | None,
) -> Reached:
    """score = (1 - weight) closeness + weight (1 - d^2 / scale), the `top` best of each query.

    `closeness` (q, items) is zero where it has no entry. There the score falls with the distance alone, so
    no item outside its entries and the plain neighbours can be among the best. `similarities_of` a CSR
    pattern are those of its pairs (`Reranker.similarities`).
    """
    metric = plain.metric
    known = plain.ids >= 0
    rows = np.repeat(np.arange(len(plain)), known.sum(axis=1))
    zeros = np.zeros(len(rows), np.float32)
    both = sparse.csr_array((zeros, (rows, plain.ids[known])), shape=(len(plain), candidates))
    entries = sparse.csr_array(closeness[:, :candidates])
    # Explicit zeros survive an addition of CSR patterns only as entries of one of the two: shift by one.
    both.data += 1
    entries = sparse.csr_array((entries.data + 1, entries.indices, entries.indptr), shape=entries.shape)
    union = sparse.csr_array(both.maximum(entries))
    union.data -= 1
    similarities = similarities_of(*parts(union)[:2])
    relative = distance_from_similarity(similarities, metric) / np.repeat(scale, np.diff(union.indptr))
    union.data = ((1 - weight) * union.data + weight * (1 - relative)).astype(np.float32)
    return Reached.from_sparse(union, top, candidates, own)
