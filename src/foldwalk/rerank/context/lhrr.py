"""Log-based hypergraph of ranking references: every item spans a hyperedge of neighbours of neighbours.

D. C. G. Pedronette, L. P. Valem, J. Almeida and R. da S. Torres, "Multimedia retrieval through unsupervised
hypergraph-based manifold ranking", IEEE TIP 2019, which has five steps, sections A to E. Lists are put in an
order of ranks given both ways (A, `ranked_lists.py`, "sum"). Then, with the item itself at place 1 of its
list, for the first k:

    W_i(j) = 1 - log_k(place of j for i)                            weight of a place                      (B)
    H = I + W W                                                     hyperedges, one a row                  (B)
    w(e) = sum of the k largest of H_e                              confidence of a hyperedge              (B)
    C = H^T diag(w) H                                               Cartesian product of hyperedges        (D)
    F(i, j) = (1 + C(i, j)) (H H^T)(i, j) (H H)(j, i)               similarity of hyperedges, both ways (C, E)

Lists are sorted by F, and it is all done once more: `rounds`, in all. k = 18 and two rounds are the values
of the authors' program. The 1 and the last factor are the program's. The score is log(1 + F), which is in
the order of F and keeps to a scale.

F is worked out for every pair that its factors reach, H and F are exact. The program's configuration follows
lists of the whole set, and so do we up to 2,000 items (`depth`). Where F is zero a list keeps the order it
had before the last round: on digits that is 1.9 of mAP more than to go on by plain similarity. What is behind
the lists follows by plain similarity.

The authors' answers that we compare with were made with L = 400 places. There the program multiplies only
within the first L and mixes what C alone says about pairs outside into the same list. Where 400 is the whole
set the first fifty are the same (orl, 1.000); elsewhere they differ and ours gains: syn1000 .89 of them and
mAP 71.6 against 70.6, grocery .90 and 62.7 against 60.1.

An unseen query gets a list by the same normalisation, and a place in an item's list where it scores enough
for the first k there; it spans a hyperedge and is part of others, and nobody else's place changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numba import njit, prange
from pydantic import Field
from scipy import sparse

from foldwalk.core.progress import task
from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray, Scalar
from foldwalk.core.vectors import Vectors
from foldwalk.graph import Numbering
from foldwalk.rerank.context.shared.list_method import ListMethod, ListParams
from foldwalk.rerank.context.shared.ranked_lists import (
    RankedLists,
    as_sparse,
    lists_from_scores,
    lists_of_new,
    normalise_ranks,
    sorted_anew,
)
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import neighborhood
from foldwalk.rerank.registry import register
from foldwalk.walk import sum_of_largest
from foldwalk.walk.csr import Parts, parts
from foldwalk.walk.rows import CHUNKS, add_rows, keep_largest, pack, room

BLOCK = 4096


class LHRRParams(ListParams):
    k: int = neighborhood(18, "head of a list that makes up a hyperedge, the item itself counted", low=2)
    rounds: int = Field(2, ge=1, le=20, description="how often lists are sorted by the hypergraph")


@dataclass(frozen=True, eq=False)
class Hypergraph:
    """One round: the lists it was made of, W with its diagonal, H, its transpose, and w."""

    lists: RankedLists
    weights: sparse.csr_array
    edges: sparse.csr_array
    members: sparse.csr_array
    confidence: Float32Array


@dataclass(frozen=True, eq=False)
class Incidence:
    """Rows of H, rows of H^T and w of the queries; `itself`: H(q, q), where q has no row of its own."""

    edges: sparse.csr_array
    members: sparse.csr_array
    confidence: Float32Array
    itself: Float32Array | None


@register
class LHRR(ListMethod):
    name = "lhrr"
    family = "context"
    paper = "Pedronette et al., Multimedia retrieval through ... hypergraph-based manifold ranking, TIP 2019"
    summary = "items are alike when the hyperedges spanned by their neighbours' lists are alike"
    Parameters = LHRRParams
    takes_distances = True

    def _prepare(self) -> None:
        k = self.params.k
        given = self.lists_of_all()
        # Lists and hyperedges are kept by places, not the items' own numbers in a large gallery.
        self.numbering = Numbering.of(given)
        self.nearest, order = self.numbering.neighbors(given), self.numbering.order
        self.place_weights = (1 - np.log(np.arange(2, k + 1)) / np.log(k)).astype(np.float32)
        whole = normalise_ranks(self.nearest.ids, "sum")
        self.normalised, lists = whole.ids, whole.first(k - 1)
        self.rounds = [self._hypergraph(lists)]
        everyone, ordered = np.arange(len(self.vectors)), Vectors(self.vectors.values[order])
        for _ in range(self.params.rounds - 1):
            graph = self.rounds[-1]
            scores = self._similarity(self._rows(graph, everyone), graph, 2 * k)
            lists = self._sorted(scores, lists, ordered, order.astype(np.int64))
            self.rounds.append(self._hypergraph(lists))

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        found = self.search(queries, max(self.nearest.k, 1))
        found = replace(found, ids=self.numbering.renumber(found.ids))
        lists = lists_of_new(self.nearest, found)
        for graph in self.rounds:
            before = self.numbering.items(lists.ids)
            scores = self._similarity(self._join(lists, graph), graph, max(top, found.k) + 1)
            lists = self._sorted(scores, lists, queries, None)
        reached = Reached.from_sparse(self._by_items(scores), top, self.candidates, None)
        return self.followed_by_lists(reached, lambda some: before[some])

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        # Room for the item itself and for other queries, which are not answered.
        room = top + 1 + len(self.vectors) - self.candidates
        reached = []
        with task("comparing hyperedges", len(rows)) as advance:
            for first in range(0, len(rows), BLOCK):
                part = rows[first : first + BLOCK]
                scores = self._similarity_of_rows(self.rounds[-1], part, room)
                reached.append(Reached.from_sparse(scores, top, self.candidates, part))
                advance(len(part))
        return self.followed_by_lists(Reached.join(reached), lambda some: self._before(rows[some]))

    def _before(self, rows: IntArray) -> Int32Array:
        """The lists that the last round sorts."""
        lists = self.numbering.items(self.normalised[self.numbering.place[rows]])
        for graph in self.rounds[:-1]:
            scores = self._similarity_of_rows(graph, rows, 2 * lists.shape[1])
            lists = sorted_anew(lists, scores)
        return lists

    def _similarity_of_rows(self, graph: Hypergraph, rows: IntArray, cap: int) -> sparse.csr_array:
        places = self.numbering.place[rows]
        return self._by_items(self._similarity(self._rows(graph, places), graph, cap))

    def _hypergraph(self, lists: RankedLists) -> Hypergraph:
        n = len(self.vectors)
        itself = sparse.eye_array(n, format="csr", dtype=np.float32)
        weights = sparse.csr_array(lists.rows(self.place_weights, n) + itself)
        edges = sparse.csr_array(weights @ weights + itself)
        confidence = sum_of_largest(edges, self.params.k)
        return Hypergraph(lists, weights, edges, sparse.csr_array(edges.T), confidence)

    def _rows(self, graph: Hypergraph, rows: AnyArray) -> Incidence:
        return Incidence(graph.edges[rows], graph.members[rows], graph.confidence, None)

    def _join(self, lists: RankedLists, graph: Hypergraph) -> Incidence:
        """Unseen queries: their own hyperedges, and those of items that would list them."""
        n = len(self.vectors)
        own = lists.first(self.params.k - 1).rows(self.place_weights, n)
        places = graph.lists.places_of(lists.ids, lists.values)
        named = (lists.values > 0) & (places > 0) & (places < self.params.k)
        weights = np.where(named, np.append(0, self.place_weights)[np.where(named, places, 0)], 0)
        by = as_sparse(lists.ids, weights, n)
        itself = (2 + own.multiply(by).sum(axis=1)).astype(np.float32)
        edges = sparse.csr_array(own + own @ graph.weights)
        whole = sparse.hstack([edges, itself[:, None]], format="csr")
        confidence = sum_of_largest(whole, self.params.k)
        members = sparse.csr_array(by + by @ graph.weights.T)
        return Incidence(edges, members, confidence, itself)

    def _similarity(self, queries: Incidence, graph: Hypergraph, cap: int) -> sparse.csr_array:
        """log(1 + F) of each query, the `cap` largest."""
        edges, members, confidence = queries.edges, queries.members, graph.confidence
        all_edges, all_members = graph.edges, graph.members
        if queries.itself is not None:
            # The query's own hyperedge is one more row, and its own column one more factor.
            itself = sparse.diags_array(queries.itself)
            all_edges = sparse.vstack([all_edges, edges], format="csr")
            all_members = sparse.vstack([all_members, members], format="csr")
            edges = sparse.hstack([edges, itself], format="csr")
            members = sparse.hstack([members, itself], format="csr")
            confidence = np.concatenate([confidence, queries.confidence])
        weighed = sparse.csr_array(
            (members.data * confidence[members.indices], members.indices, members.indptr)
        )
        columns = graph.edges.shape[1]
        written = room(edges.shape[0], min(cap, columns))
        _multiply_similarities(
            parts(weighed), parts(edges), parts(members), parts(all_edges), parts(all_members),
            columns, *written,
        )  # fmt: skip
        return pack(*written, columns)

    def _sorted(
        self, scores: sparse.csr_array, before: RankedLists, queries: Vectors, own: IntArray | None
    ) -> RankedLists:
        similarities_of = partial(self.similarities, queries)
        before = replace(before, ids=self.numbering.items(before.ids))
        lists = lists_from_scores(self._by_items(scores), before, similarities_of, own)
        return replace(lists, ids=self.numbering.renumber(lists.ids))

    def _by_items(self, scores: sparse.csr_array) -> sparse.csr_array:
        return sparse.csr_array(
            (scores.data, self.numbering.order[scores.indices], scores.indptr), shape=scores.shape
        )


@njit()
def _row_times(left: Parts, row: Scalar, right: Parts, sums: Float32Array, touched: Int32Array) -> Scalar:
    """sums += one row of left times right; returns how many columns were touched."""
    indptr, indices, data = left
    one = np.float32(1)
    return add_rows(indices, data, indptr[row], indptr[row + 1], one, right, sums, touched, 0)


@njit(cache=True, parallel=True)
def _multiply_similarities(
    weighed: Parts,
    edges: Parts,
    members: Parts,
    all_edges: Parts,
    all_members: Parts,
    columns: int,
    out_ids: Int32Array,
    out_values: Float32Array,
    sizes: IntArray,
) -> None:
    """log(1 + (1 + C) (H H^T) (H H)^T), row by row, over the columns that both similarities reach."""
    n, cap = out_ids.shape
    for chunk in prange(CHUNKS):
        first, last = chunk * n // CHUNKS, (chunk + 1) * n // CHUNKS
        if first == last:
            continue
        product, alike = np.zeros(columns, np.float32), np.zeros(columns, np.float32)
        final = np.zeros(columns, np.float32)
        of_product, of_alike = np.empty(columns + 1, np.int32), np.empty(columns + 1, np.int32)
        of_final = np.empty(columns + 1, np.int32)
        for row in range(first, last):
            products = _row_times(weighed, row, all_edges, product, of_product)
            likes = _row_times(edges, row, all_members, alike, of_alike)
            count = _row_times(members, row, all_members, final, of_final)
            for t in range(count):
                item = of_final[t]
                final[item] *= (1 + product[item]) * alike[item]
            sizes[row] = keep_largest(
                final, of_final, count, cap, np.float32(0), out_ids[row], out_values[row]
            )
            for t in range(sizes[row]):
                out_values[row, t] = np.log1p(out_values[row, t])
            for t in range(products):
                product[of_product[t]] = 0
            for t in range(likes):
                alike[of_alike[t]] = 0
