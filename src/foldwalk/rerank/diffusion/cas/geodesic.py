"""Distances along the neighbour graph: shortest paths whose steps are the distances of neighbours' rows.

The Jensen-Shannon divergence does not obey the triangle inequality, so a chain of small steps may be shorter
than the direct one: that is what this last step of the authors' program gains by. Their program has this
divergence and the plain distance alone; the other distances of rows (table 6) and the fusion with F are taken
along the graph in the same way.
"""

from __future__ import annotations

import numba
import numpy as np
from numba import njit, prange
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray, Scalar
from foldwalk.core.vectors import Vectors
from foldwalk.graph import as_rows, radius
from foldwalk.neighbors.similarity import pair_similarity
from foldwalk.rerank.diffusion.cas.asked import Asked, Rows
from foldwalk.rerank.diffusion.cas.compare import distances_at, with_query_column
from foldwalk.rerank.diffusion.cas.parameters import CASParams
from foldwalk.rerank.fusion import squared_distance
from foldwalk.rerank.order import Reached
from foldwalk.rerank.precomputed import KnownPairs
from foldwalk.walk.csr import Parts, parts
from foldwalk.walk.divergence import SMALLEST, divergences_within
from foldwalk.walk.entries import entry
from foldwalk.walk.overlap import ENTROPY
from foldwalk.walk.paths import next_item, shorten
from foldwalk.walk.scratch import blank
from foldwalk.walk.select import offer, sort_heap

FARTHER = np.float32(2)
NO_PAIRS: tuple[Parts, Float32Array] = (
    (np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32)),
    np.zeros(0, np.float32),
)


class Paths:
    """Eq. 18 with the shortest path in place of d'. Rows are kept by places, answers are items."""

    def __init__(
        self, nearest: Neighbors, rows: sparse.csr_array, params: CASParams, pairs: KnownPairs | None
    ) -> None:
        self.params, self.rows, self.cosine = params, rows, nearest.metric == "cosine"
        # Of pairs that are known without vectors; nothing where there are vectors.
        self.known = NO_PAIRS if pairs is None else (pairs.arrays, pairs.least)
        self.row_arrays = parts(rows)
        self.steps = parts(step_lengths(nearest, rows, params.distance))
        self.radius = radius(nearest, params.geodesic_k - 1)

    def starts(self, near: Neighbors, rows: Rows) -> tuple[IntArray, AnyArray, Float32Array]:
        """The first steps of unseen queries with these rows: where each begins, to which places, how long."""
        first = first_steps(near, self.params.geodesic_k - 1, self.radius)
        known = first >= 0
        indptr = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        if self.params.distance == "jensen_shannon":
            lengths = rows.divergences(first, self.row_arrays)[known]
        else:
            mine = rows.matrix(self.rows.shape[1] + 1)
            lengths = distances_at(
                mine, with_query_column(self.rows), indptr, first[known], self.params.distance
            )
        return indptr, first[known], lengths

    def rank(
        self,
        starts: tuple[IntArray, AnyArray, Float32Array],
        asked: Asked,
        items: Vectors,
        order: Int32Array,
        candidates: int,
        top: int,
    ) -> Reached:
        """The best of each query, whose paths begin at `starts`; `order[p]` is the item at place p."""
        queries, shares = asked.queries, asked.shares
        ids = np.full((len(queries), top), -1, np.int32)
        scores = np.zeros((len(queries), top), np.float32)
        left_out = np.full(len(queries), -1) if asked.own is None else asked.own
        threads = min(numba.get_num_threads(), len(queries))
        paths = blank((threads, len(items) + 1), np.inf, np.float32)
        indptr, places, lengths = starts
        nothing = np.zeros(len(queries) + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)
        ranked_by_paths(
            *self.steps, indptr, places.astype(np.int32), lengths,
            nothing if shares is None else parts(shares), shares is not None,
            queries.values, items.values, asked.scale, np.float32(self.params.omega),
            self.cosine, *self.known, order, candidates, left_out, paths, ids, scores,
        )  # fmt: skip
        return Reached(ids, scores)


def step_lengths(neighbors: Neighbors, rows: sparse.csr_array, distance: str) -> sparse.csr_array:
    """The graph of steps: each item and its neighbours, both ways, with the distance of their rows."""
    directed = as_rows(neighbors, np.ones_like(neighbors.similarities), len(neighbors))
    if distance == "jensen_shannon":
        divergences_within(*parts(directed)[:2], *parts(rows), ENTROPY, directed.data)
        return sparse.csr_array(directed.maximum(directed.T.tocsr()))
    # No distance reaches 2. What is left to it is never zero, and of two ways the shorter one is the larger.
    directed.data = FARTHER - distances_at(rows, rows, directed.indptr, directed.indices, distance)
    both = sparse.csr_array(directed.maximum(directed.T.tocsr()))
    both.data = np.maximum(FARTHER - both.data, SMALLEST)
    return both


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
    shares: Parts,
    by_shares: bool,
    queries: Float32Array,
    items: Float32Array,
    scale: Float32Array,
    omega: Scalar,
    cosine: bool,
    known: Parts,
    least: Float32Array,
    order: Int32Array,
    candidates: int,
    own: IntArray,
    paths: AnyArray,
    ids: Int32Array,
    scores: Float32Array,
) -> None:
    """The best of 1 / (1 + (1 - omega) path + omega d), by Dijkstra's algorithm from each query.

    d is the plain distance or, `by_shares`, one minus the query's share of the place. Either is not negative.
    Items are settled in the order of their paths; no later one can be among the best once its path alone
    outweighs the worst of them. The graph is walked by places, `order` says whose they are; ids and vectors
    are those of items. Where pairs are `known` without vectors, similarities are looked up: queries are then
    items themselves, and `least` is what a pair that is not known counts as. `paths`, a row for each thread,
    is infinite before and after.
    """
    threads, count, top = paths.shape[0], queries.shape[0], ids.shape[1]
    s_indptr, s_places, s_values = shares
    for thread in prange(threads):
        path = paths[thread]
        touched = np.empty(path.shape[0], np.int32)
        share = np.zeros(path.shape[0] if by_shares else 0, np.float32)
        for q in range(thread * count // threads, (thread + 1) * count // threads):
            for place in range(s_indptr[q], s_indptr[q + 1]):
                share[s_places[place]] = s_values[place]
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
                    if by_shares:
                        apart = np.float32(1) - share[here]
                    else:
                        if least.shape[0] > 0:
                            row = own[q]
                            similarity = entry(known[0], known[1], known[2], row, item, least[row])
                        else:
                            similarity = pair_similarity(queries[q], items[item], cosine)
                        apart = np.float32(squared_distance(similarity, cosine) / scale[q])
                    total = (1 - omega) * length + omega * apart
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
            for place in range(s_indptr[q], s_indptr[q + 1]):
                share[s_places[place]] = 0
