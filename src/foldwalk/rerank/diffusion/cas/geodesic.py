"""Distances along the neighbour graph: shortest paths whose steps are the divergences of neighbours.

The Jensen-Shannon divergence does not obey the triangle inequality, so a chain of small steps may be shorter
than the direct one: that is what this last step of the authors' program gains by.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray, Scalar
from foldwalk.graph import as_rows
from foldwalk.neighbors.similarity import pair_similarity
from foldwalk.walk.csr import parts
from foldwalk.walk.divergence import divergences_within
from foldwalk.walk.overlap import ENTROPY
from foldwalk.walk.paths import next_item, shorten
from foldwalk.walk.select import offer, sort_heap


def step_lengths(neighbors: Neighbors, rows: sparse.csr_array) -> sparse.csr_array:
    """The graph of steps: each item and its neighbours, both ways, with the divergence of their rows."""
    directed = as_rows(neighbors, np.ones_like(neighbors.similarities), len(neighbors))
    divergences_within(*parts(directed)[:2], *parts(rows), ENTROPY, directed.data)
    return sparse.csr_array(directed.maximum(directed.T.tocsr()))


def first_steps(found: Neighbors, k: int, radius: Float32Array) -> Int32Array:
    """Where paths from unseen queries begin, -1 elsewhere: their k nearest, and whoever would choose them.

    An item would count the query among its own k nearest if it is as similar as the `radius` of the item.
    """
    nearest = np.arange(found.k) < k
    return np.where(nearest | (found.similarities >= radius[found.ids]), found.ids, np.int32(-1))


@njit(cache=True, parallel=True)
def ranked_by_paths(
    indptr: AnyArray,
    indices: AnyArray,
    lengths: Float32Array,
    start_indptr: IntArray,
    start_places: AnyArray,
    start_lengths: Float32Array,
    queries: Float32Array,
    items: Float32Array,
    scale: Float32Array,
    omega: Scalar,
    cosine: bool,
    order: Int32Array,
    candidates: int,
    own: IntArray,
    paths: AnyArray,
    ids: Int32Array,
    scores: Float32Array,
) -> None:
    """The best of 1 / (1 + (1 - omega) path + omega d), by Dijkstra's algorithm from each query.

    Items are settled in the order of their paths; no later one can be among the best once its path alone
    outweighs the worst of them. The graph is walked by places, `order` says whose they are; ids and vectors
    are those of items. `paths`, a row for each thread, is infinite before and after.
    """
    threads, count, top = paths.shape[0], queries.shape[0], ids.shape[1]
    for thread in prange(threads):
        path = paths[thread]
        touched = np.empty(path.shape[0], np.int32)
        for q in range(thread * count // threads, (thread + 1) * count // threads):
            waiting = [np.int64(0) for _ in range(0)]
            reached = 0
            for place in range(start_indptr[q], start_indptr[q + 1]):
                here = np.int64(start_places[place])
                if start_lengths[place] < path[here]:
                    reached = shorten(path, here, start_lengths[place], waiting, touched, reached)
            size = 0
            longest = np.float32(np.inf)
            while len(waiting) > 0:
                here = next_item(path, waiting)
                if here < 0:
                    continue
                length = path[here]
                if length > longest:
                    break
                item = order[here]
                if item < candidates and item != own[q]:
                    similarity = pair_similarity(queries[q], items[item], cosine)
                    if cosine:
                        squared = max(np.float32(2) - np.float32(2) * similarity, np.float32(0))
                    else:
                        squared = (np.float32(1) / similarity - np.float32(1)) ** 2
                    total = (1 - omega) * length + omega * squared / scale[q]
                    score = np.float32(1) / (np.float32(1) + np.float32(total))
                    size = offer(scores[q], ids[q], size, top, score, item)
                    if size == top and omega < 1:
                        # A little more than exact, so that rounding never turns a tie away.
                        worst = np.float32(1) / scores[q, 0] - np.float32(1)
                        longest = worst / (np.float32(1) - omega) * np.float32(1.0001)
                for edge in range(indptr[here], indptr[here + 1]):
                    other = np.int64(indices[edge])
                    longer = np.float32(length + lengths[edge])
                    if longer < path[other] and longer <= longest:
                        reached = shorten(path, other, longer, waiting, touched, reached)
            sort_heap(scores[q], ids[q], size)
            for t in range(reached):
                path[touched[t]] = np.inf
