"""EIR: diffuse from every item offline and store its row; a query only adds up the rows of its neighbours.

F. Yang, R. Hinami, Y. Matsui, S. Ly and S. Satoh, "Efficient image retrieval via decoupling diffusion into
online and offline processing", AAAI 2019. The graph is that of DFS (mutual neighbours, cosine^gamma,
symmetric normalisation of the whole graph). Offline, for each item i, the system

    (I - alpha S) f_i = e_i

is cut to the `keep` nearest of i (its rows and columns, after normalisation) and solved by at most 20 steps
of conjugate gradients. Online, an unseen query q scores  sum_j s(q, j)^gamma f_j  over its k_query nearest j.
Transductive, as the authors evaluate it: queries get rows too, rows are scaled to length one, and the score
is their dot product; `rank_self` does the same.

The authors' program counts an item among its own k nearest, and so does k here; it takes k = 50 for large
classes, 15 holds on small ones too. Entries that the truncated solver leaves below zero are dropped.
`save` keeps the offline rows, so that loading costs no solving.

The `keep` nearest of an item are never listed. Its walk visits few of them; whether a visited item is one of
them, its similarity tells, compared with that of the `keep`-th. That radius is exact up to 20,000 items and
comes from a sample beyond, so that the offline part grows with n, the k-NN graph aside.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from pydantic import Field
from scipy import sparse

from foldwalk.core.progress import task
from foldwalk.core.types import AnyArray, Float32Array, Float64Array, Int32Array, IntArray, Scalar
from foldwalk.core.vectors import Vectors
from foldwalk.graph import as_rows, cosine_power, knn_affinity, normalise
from foldwalk.neighbors.similarity import pair_similarity
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params, neighborhood
from foldwalk.rerank.registry import register
from foldwalk.rerank.sparse_state import flatten, unflatten
from foldwalk.walk import InvertedList, multiply_capped, scale_rows
from foldwalk.walk.csr import parts
from foldwalk.walk.rows import pack
from foldwalk.walk.select import BUCKETS, kth_largest_by_bits

BLOCK = 1024
ROUNDING = np.float32(1e-6)
UNKNOWN, OUTSIDE = -1, -2


class EIRParams(Params):
    k: int = neighborhood(15, "nearest of an item that may be joined to it, itself counted", low=2)
    k_query: int = neighborhood(10, "nearest items of an unseen query whose rows are added up")
    keep: int = Field(1000, ge=1, le=1_000_000, description="nearest items to which each offline row is cut")
    gamma: float = Field(3.0, gt=0, le=100, description="power of the similarity")
    alpha: float = Field(0.99, ge=0, lt=1, description="share of relevance that walks on at each step")
    tolerance: float = Field(1e-6, gt=0, le=0.1, description="relative residual at which the solver stops")
    max_iterations: int = Field(20, ge=1, le=10_000, description="steps after which the solver stops")


@register
class EIR(Reranker):
    name = "eir"
    family = "diffusion"
    paper = "Yang et al., Efficient image retrieval via decoupling diffusion, AAAI 2019"
    summary = "diffusion from every item stored offline; a query adds up the rows of its neighbours"
    Parameters = EIRParams

    def _prepare(self) -> None:
        neighbors = self.neighbors(self.params.k - 1)
        graph = knn_affinity(neighbors, cosine_power(neighbors, self.params.gamma), "mutual")
        self.offline = self._offline_rows(normalise(graph, "symmetric").matrix)

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        found = self.search(queries, self.params.k_query)
        weights = as_rows(found, cosine_power(found, self.params.gamma), self.candidates)
        summed = multiply_capped(weights, self.offline, cap=top)
        return Reached.from_sparse(summed, top, self.candidates, None)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        unit = scale_rows(self.offline, "l2")
        lists = InvertedList(unit[: self.candidates])
        reached = []
        with task("comparing rows", len(rows)) as advance:
            for first in range(0, len(rows), BLOCK):
                part = rows[first : first + BLOCK]
                products = lists.overlap(unit[part], "product")
                reached.append(Reached.from_sparse(products, top, self.candidates, part))
                advance(len(part))
        return Reached.join(reached)

    def _state(self) -> dict[str, AnyArray]:
        return flatten({"offline": self.offline})

    def _restore(self, state: dict[str, AnyArray]) -> None:
        self.offline = unflatten(state)["offline"]

    def _offline_rows(self, transitions: sparse.csr_array) -> sparse.csr_array:
        n = len(self.vectors)
        width = min(self.params.keep, self.candidates)
        blocks = []
        with task("offline diffusion", n) as advance:
            for first in range(0, n, BLOCK):
                items = np.arange(first, min(first + BLOCK, n))
                ids, values = (
                    np.empty((len(items), width), np.int32),
                    np.empty((len(items), width), np.float32),
                )
                sizes = np.zeros(len(items), np.int64)
                _solve_truncated(
                    *parts(transitions), self.vectors.values, self.params.metric == "cosine",
                    items, self._radius(items, width),
                    self.params.alpha, self.params.tolerance, self.params.max_iterations, ids, values, sizes,
                )  # fmt: skip
                blocks.append(pack(ids, values, sizes, n))
                advance(len(items))
        return sparse.csr_array(sparse.vstack(blocks, format="csr"))

    def _radius(self, items: IntArray, width: int) -> Float32Array:
        """The similarity of each item to the last of its `width` nearest, itself counted."""
        n, others = len(self.vectors), self.sample.values
        if width >= n:
            return np.full(len(items), -np.inf, np.float32)
        rank = max(1, round(width * len(others) / n))
        own = self.vectors.values[items]
        scores = own @ others.T
        if self.params.metric == "euclidean":
            squared = (own**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2 * scores
            scores = 1 / (1 + np.sqrt(np.maximum(squared, 0)))
        return _kth_of_rows(scores, rank) - ROUNDING


@njit(cache=True, parallel=True)
def _kth_of_rows(scores: Float32Array, rank: int) -> Float32Array:
    """The rank-th largest of each row, whose entries change places meanwhile."""
    out = np.empty(scores.shape[0], np.float32)
    for row in prange(scores.shape[0]):
        counts = np.empty(BUCKETS, np.int32)
        out[row] = kth_largest_by_bits(scores[row], scores.shape[1], rank, counts)
    return out


@njit()
def _within_radius(
    indptr: AnyArray,
    indices: AnyArray,
    vectors: Float32Array,
    cosine: bool,
    item: Scalar,
    radius: Scalar,
    members: Int32Array,
    ends: IntArray,
    place_of: Int32Array,
    refused: Int32Array,
) -> tuple[Scalar, Scalar]:
    """Members of the sub-graph by steps from `item`, those within t steps in front of ends[t].

    Returns how many were refused, and how many steps lead to new members. `place_of` tells members' places.
    """
    members[0], place_of[item], ends[0] = item, 0, 1
    begin, size, refusals = 0, 1, 0
    for t in range(1, len(ends)):
        end = size
        for a in range(begin, end):
            for edge in range(indptr[members[a]], indptr[members[a] + 1]):
                other = indices[edge]
                if place_of[other] != UNKNOWN:
                    continue
                if size < len(members) and pair_similarity(vectors[item], vectors[other], cosine) >= radius:
                    members[size], place_of[other] = other, size
                    size += 1
                else:
                    refused[refusals], place_of[other] = other, OUTSIDE
                    refusals += 1
        ends[t], begin = size, end
        if size == end:
            return refusals, t
    return refusals, len(ends) - 1


@njit(cache=True, parallel=True)
def _solve_truncated(
    indptr: AnyArray,
    indices: AnyArray,
    data: AnyArray,
    vectors: Float32Array,
    cosine: bool,
    items: IntArray,
    radius: Float32Array,
    alpha: Scalar,
    tolerance: Scalar,
    max_iterations: int,
    out_ids: Int32Array,
    out_values: Float32Array,
    sizes: IntArray,
) -> None:
    """(I - alpha S) f = e_i on the sub-graph of the items within i's radius; positive entries of f.

    As many steps of conjugate gradients reach no farther than that many steps on the graph.
    """
    count, width = out_ids.shape
    widest = (indptr[1:] - indptr[:-1]).max()
    chunks = 32
    for chunk in prange(chunks):
        first, last = chunk * count // chunks, (chunk + 1) * count // chunks
        if first == last:
            continue
        place_of = np.full(indptr.shape[0] - 1, UNKNOWN, np.int32)
        members, refused = np.empty(width, np.int32), np.empty(indptr.shape[0], np.int32)
        ends = np.empty(max_iterations + 1, np.int64)
        starts, others = np.zeros(width + 1, np.int64), np.empty(width * widest, np.int32)
        weights = np.empty(width * widest, np.float32)
        x, r, p, q = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
        for row in range(first, last):
            refusals, deepest = _within_radius(
                indptr, indices, vectors, cosine, items[row], radius[row], members, ends, place_of, refused
            )
            size = ends[deepest]
            edges = 0
            for a in range(size):
                for edge in range(indptr[members[a]], indptr[members[a] + 1]):
                    place = place_of[indices[edge]]
                    if place >= 0:
                        others[edges], weights[edges] = place, alpha * data[edge]
                        edges += 1
                starts[a + 1] = edges
            x[:size], r[:size], p[:size] = 0.0, 0.0, 0.0
            r[0], p[0], squared = 1.0, 1.0, 1.0
            for t in range(max_iterations):
                if squared <= tolerance * tolerance:
                    break
                reached = ends[min(t + 1, deepest)]
                curvature = 0.0
                for a in range(reached):
                    walked = 0.0
                    for edge in range(np.uint64(starts[a]), np.uint64(starts[a + 1])):
                        walked += weights[edge] * p[np.uint64(others[edge])]
                    q[a] = p[a] - walked
                    curvature += p[a] * q[a]
                if curvature <= 0.0:
                    break
                squared = _step(x, r, p, q, reached, squared, curvature)
            found = 0
            for a in range(size):
                place_of[members[a]] = UNKNOWN
                if x[a] > 0:
                    out_ids[row, found], out_values[row, found] = members[a], x[a]
                    found += 1
            sizes[row] = found
            for a in range(refusals):
                place_of[refused[a]] = UNKNOWN


@njit()
def _step(
    x: Float64Array,
    r: Float64Array,
    p: Float64Array,
    q: Float64Array,
    size: Scalar,
    squared: Scalar,
    curvature: Scalar,
) -> Scalar:
    """One step of conjugate gradients, q = (I - alpha S) p; returns the squared length of the residual."""
    step = squared / curvature
    after = 0.0
    for a in range(size):
        x[a] += step * p[a]
        r[a] -= step * q[a]
        after += r[a] * r[a]
    turn = after / squared
    for a in range(size):
        p[a] = r[a] + turn * p[a]
    return after
