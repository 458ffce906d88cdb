"""Explore-exploit graph traversal: items are answered in the order in which a walk on the graph meets them.

C. Chang, G. Yu, C. Liu and M. Volkovs, "Explore-exploit graph traversal for image retrieval", CVPR 2019
(algorithm 1; in brief: section 2 of the CAS paper). Nothing is learned. A queue holds the items seen so far,
each under its best similarity to anything visited. From the query on, two steps take turns until `p` items
are answered or the queue is empty:

    explore   offer the k nearest of every item visited since the last explore step to the queue
    exploit   answer the best of the queue, and go on while the next one has a similarity above t

With t below all similarities the k nearest of the query come first, as in plain search; with t above all of
them every answered item is explored at once, which is Prim's algorithm for the largest spanning tree.

The values are those of the authors' program: k = 250, p = 5,000, t = .42. They were chosen for whitened
descriptors, whose similarity to a stranger is about zero. Here t is counted from the similarity of strangers,
the mean similarity m of all pairs, so that it means the same for vectors that all point one way:

    edges above  m + t (1 - m)  are exploited.

`relative=False` takes t as it is. An item's score falls with its place in the answer and says no more than
that. An unseen query is joined to its k nearest; queries that join the graph are walked through like any
item, but not answered.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numba import njit, prange
from pydantic import Field

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import Float32Array, Int32Array, IntArray, Scalar
from foldwalk.core.vectors import Vectors
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params, neighborhood
from foldwalk.rerank.registry import register

CHUNKS = 32


class EGTParams(Params):
    k: int = neighborhood(250, "nearest items that an explored item leads to")
    p: int = neighborhood(5000, "items that are answered at most; the rest follows by plain similarity")
    t: float = Field(0.42, ge=-1, le=1, description="similarity above which edges are exploited")
    relative: bool = Field(True, description="count t from the mean similarity of all pairs")


@register
class EGT(Reranker):
    name = "egt"
    family = "context"
    paper = "Chang et al., Explore-exploit graph traversal for image retrieval, CVPR 2019"
    summary = "items in the order in which a walk over the best edges meets them"
    Parameters = EGTParams
    answers_from_rows = True
    takes_distances = True

    def _wanted(self, _: int) -> int:
        return int(self.params.k)

    def _prepare(self) -> None:
        self.graph = self.neighbors()
        self.threshold = np.float32(self.params.t)
        if self.params.relative:
            strangers = np.float32(self._mean_similarity())
            self.threshold = strangers + self.threshold * (1 - strangers)

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        return self._traverse(self.search(queries, self.params.k), None, top)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        found = Neighbors(self.graph.ids[rows], self.graph.similarities[rows], self.metric)
        return self._traverse(found, rows, top)

    def _mean_similarity(self) -> float:
        """Of all pairs: by the cosine the square of the mean vector's length; otherwise from a sample."""
        if self.pairs is not None:
            return self.pairs.mean()
        if self.params.metric == "cosine":
            return float((self.vectors.values.mean(axis=0, dtype=np.float64) ** 2).sum())
        some = self.vectors.values[:: max(1, len(self.vectors) // 500)].astype(np.float64)
        squares = np.einsum("ij,ij->i", some, some)
        squared = squares[:, None] + squares[None, :] - 2 * some @ some.T
        return float((1 / (1 + np.sqrt(np.maximum(squared, 0)))).mean())

    def _traverse(self, found: Neighbors, own: IntArray | None, top: int) -> Reached:
        ids = np.full((len(found), top), -1, np.int32)
        start = np.full(len(found), -1) if own is None else own
        _algorithm_1(
            self.graph.ids,
            self.graph.similarities,
            found.ids,
            found.similarities,
            start,
            self.threshold,
            self.candidates,
            min(top, self.params.p),
            ids,
        )
        places = 1 - np.arange(top, dtype=np.float32) / (self.params.p + 1)
        return Reached(ids, np.where(ids >= 0, places, np.float32(0)).astype(np.float32))


@njit()
def _offer(
    ids: Int32Array,
    similarities: Float32Array,
    row: Scalar,
    seen_by: Int32Array,
    best: Float32Array,
    queue: Scalar,
) -> None:
    """Put items that are not answered yet into the queue, when this edge is better than what it knew."""
    for place in range(ids.shape[0]):
        item = ids[place]
        if item >= 0 and (seen_by[item] != row or similarities[place] > best[item]):
            seen_by[item], best[item] = row, similarities[place]
            heappush(queue, (-similarities[place], item))


@njit(cache=True, parallel=True)
def _algorithm_1(
    ids: Int32Array,
    similarities: Float32Array,
    found_ids: Int32Array,
    found_similarities: Float32Array,
    own: IntArray,
    threshold: Scalar,
    candidates: int,
    most: int,
    out: Int32Array,
) -> None:
    """What is answered is known by an infinite `best`, which no edge betters.

    Entries of the queue that a better edge has made stale are skipped when they come up.
    """
    count, items = found_ids.shape[0], ids.shape[0]
    for chunk in prange(CHUNKS):
        begin, end = chunk * count // CHUNKS, (chunk + 1) * count // CHUNKS
        if begin == end:
            continue
        seen_by, best = np.full(items, -1, np.int32), np.empty(items, np.float32)
        visited = np.empty(items, np.int32)
        queue = [(np.float32(0), np.int32(0))]
        for row in range(begin, end):
            if own[row] >= 0:
                seen_by[own[row]], best[own[row]] = row, np.inf
            queue.clear()
            _offer(found_ids[row], found_similarities[row], row, seen_by, best, queue)
            first, last, size = 0, 0, 0
            while queue and size < most:
                exploiting = True
                while queue and exploiting and size < most:
                    item = heappop(queue)[1]
                    if best[item] < np.inf:
                        best[item] = np.inf
                        visited[last] = item
                        last += 1
                        if item < candidates:
                            out[row, size] = item
                            size += 1
                    while queue and best[queue[0][1]] == np.inf:
                        heappop(queue)
                    exploiting = len(queue) > 0 and -queue[0][0] > threshold
                for place in range(first, last):
                    node = visited[place]
                    _offer(ids[node], similarities[node], row, seen_by, best, queue)
                first = last
