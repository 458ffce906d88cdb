"""Distances along the neighbour graph: shortest paths whose steps are the divergences of neighbours.

The Jensen-Shannon divergence does not obey the triangle inequality, so a chain of small steps may be shorter
than the direct one: that is what this last step of the authors' program gains by.
"""

from __future__ import annotations

import heapq

import numpy as np
from numba import njit, prange
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray, Scalar
from foldwalk.graph import as_rows
from foldwalk.neighbors.similarity import pair_similarity
from foldwalk.walk.csr import parts
from foldwalk.walk.overlap import ENTROPY, binary_entropy
from foldwalk.walk.rows import CHUNKS
from foldwalk.walk.select import offer, sort_heap

SMALLEST_STEP = np.float32(1e-9)
LOW = 2**32 - 1


@njit()
def divergence(
    a_ids: AnyArray, a_values: AnyArray, b_ids: AnyArray, b_values: AnyArray, table: Float32Array
) -> Scalar:
    """Jensen-Shannon divergence (base 2) of two rows with ascending ids that sum to one (eq. 64)."""
    i, j, common = 0, 0, np.float32(0)
    while i < a_ids.shape[0] and j < b_ids.shape[0]:
        if a_ids[i] < b_ids[j]:
            i += 1
        elif a_ids[i] > b_ids[j]:
            j += 1
        else:
            total = a_values[i] + b_values[j]
            common += np.float32(0.5) * total * binary_entropy(a_values[i] / total, table)
            i += 1
            j += 1
    return min(max(np.float32(1) - common, SMALLEST_STEP), np.float32(1))


@njit(cache=True, parallel=True)
def _edge_lengths(
    n_indptr: AnyArray,
    n_indices: AnyArray,
    indptr: AnyArray,
    indices: AnyArray,
    data: AnyArray,
    table: Float32Array,
    lengths: Float32Array,
) -> None:
    n = n_indptr.shape[0] - 1
    for chunk in prange(CHUNKS):
        first, last = chunk * n // CHUNKS, (chunk + 1) * n // CHUNKS
        if first == last:
            continue
        mine = np.zeros(n, np.float32)
        for i in range(first, last):
            for place in range(indptr[i], indptr[i + 1]):
                mine[indices[place]] = data[place]
            for edge in range(n_indptr[i], n_indptr[i + 1]):
                j = n_indices[edge]
                lengths[edge] = 0
                # An edge that both list is measured once, from its smaller end.
                if j < i and i in n_indices[n_indptr[j] : n_indptr[j + 1]]:
                    continue
                common = np.float32(0)
                for place in range(indptr[j], indptr[j + 1]):
                    value = mine[indices[place]]
                    if value > 0:
                        total = value + data[place]
                        common += np.float32(0.5) * total * binary_entropy(value / total, table)
                lengths[edge] = min(max(np.float32(1) - common, SMALLEST_STEP), np.float32(1))
            for place in range(indptr[i], indptr[i + 1]):
                mine[indices[place]] = 0


def step_lengths(neighbors: Neighbors, rows: sparse.csr_array) -> sparse.csr_array:
    """The graph of steps: each item and its neighbours, both ways, with the divergence of their rows."""
    directed = as_rows(neighbors, np.ones_like(neighbors.similarities), len(neighbors))
    _edge_lengths(*parts(directed)[:2], *parts(rows), ENTROPY, directed.data)
    return sparse.csr_array(directed.maximum(directed.T.tocsr()))


@njit(cache=True, parallel=True)
def lengths_to(
    near: Int32Array,
    row_ids: Int32Array,
    row_values: Float32Array,
    row_sizes: IntArray,
    indptr: AnyArray,
    indices: AnyArray,
    data: AnyArray,
    table: Float32Array,
) -> Scalar:
    """The divergence of each query's row, its first `row_sizes` entries, and those of its nearest, (q, k)."""
    lengths = np.ones(near.shape, np.float32)
    for q in prange(near.shape[0]):
        size = row_sizes[q]
        for place in range(near.shape[1]):
            j = near[q, place]
            if j >= 0:
                other = slice(indptr[j], indptr[j + 1])
                lengths[q, place] = divergence(
                    row_ids[q, :size], row_values[q, :size], indices[other], data[other], table
                )
    return lengths


@njit()
def _waiting(length: Scalar, item: Scalar) -> Scalar:
    """Length and item in one number, ordered as the pair: a length is not negative, so its bits are."""
    return (np.int64(np.float32(length).view(np.int32)) << 32) | np.int64(item)


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
                    touched[reached] = here
                    reached += path[here] == np.inf
                    path[here] = start_lengths[place]
                    heapq.heappush(waiting, _waiting(start_lengths[place], here))
            size = 0
            longest = np.float32(np.inf)
            while len(waiting) > 0:
                first = heapq.heappop(waiting)
                here = first & LOW
                length = path[here]
                if _waiting(length, here) != first:  # a shorter path to it was found since
                    continue
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
                        touched[reached] = other
                        reached += path[other] == np.inf
                        path[other] = longer
                        heapq.heappush(waiting, _waiting(longer, other))
            sort_heap(scores[q], ids[q], size)
            for t in range(reached):
                path[touched[t]] = np.inf
