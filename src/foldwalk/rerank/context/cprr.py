"""Cartesian product of ranking references: pairs that stand together at the head of many lists are alike.

L. P. Valem, D. C. G. Pedronette and J. Almeida, "Unsupervised similarity learning through Cartesian product
of ranking references", Pattern Recognition Letters 2018 (first SIBGRAPI 2016). Lists are put in an order of
ranks given both ways (`ranked_lists.py`, "sum"). Then, with P_q(x) = k - place of x in the list of q, for
the first k, the item itself at place 0, each list adds to every pair of its head, and so does the set of
lists that name an item (its reverse neighbours, itself left out):

    M(x, y) = sum over q of P_q(x) P_q(y)  +  sum over r of P'_x(r) P'_y(r),     P' = P without the diagonal,

that is M = P^T P (step `execCartProd` of the authors' program) + P' P'^T (step `execReverseCartProd`). Lists
are sorted by M, and it is all done once more: `rounds`, in all. k = 20 and two rounds are the values of the
program.

The program's configuration follows lists of the whole set, and so do we up to 2,000 items; beyond, `depth`
says what is affordable. Only pairs within the lists are counted. Where M is zero a list keeps the order it
had before the last round: on digits that is 1.2 of mAP more than to go on by plain similarity. What is behind
the lists follows by plain similarity. Ties go to the more similar item, theirs to the one that stood before
the other; the first fifty are the same to .998 on the three reference sets, whose answers were made with
lists of 400.

An unseen query gets a list by the same normalisation, and a place in an item's list where it scores enough
for the first k there; nobody else's place changes.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from pydantic import Field
from scipy import sparse

from foldwalk.core.types import Float32Array, Int32Array, IntArray
from foldwalk.core.vectors import Vectors
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
from foldwalk.walk import multiply_capped

# Products that a row may have, in depths: far more than are met, it only bounds the work space.
ROOM = 8


class CPRRParams(ListParams):
    k: int = neighborhood(20, "head of a list whose pairs are counted, the item itself counted", low=2)
    rounds: int = Field(2, ge=1, le=20, description="how often lists are sorted by the pairs counted")


@register
class CPRR(ListMethod):
    name = "cprr"
    family = "context"
    paper = "Valem et al., Cartesian product of ranking references, Pattern Recognition Letters 2018"
    summary = "pairs that stand together at the head of many rank lists are alike"
    Parameters = CPRRParams
    takes_distances = True

    def _prepare(self) -> None:
        k, n = self.params.k, len(self.vectors)
        self.nearest = self.lists_of_all()
        self.weights = np.arange(k - 1, 0, -1, dtype=np.float32)
        whole = normalise_ranks(self.nearest.ids, "sum")
        self.normalised, lists = whole.ids, whole.first(k - 1)
        self.lists, self.heads = [lists], [lists.rows(self.weights, n)]
        everyone = np.arange(n)
        for _ in range(self.params.rounds - 1):
            head = self.heads[-1]
            scores = self._products(head, sparse.csr_array(head.T), head, self.nearest.ids)
            lists = self._sorted(scores, lists, self.vectors, everyone)
            self.lists.append(lists)
            self.heads.append(lists.rows(self.weights, n))

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        found = self.search(queries, max(self.nearest.k, 1))
        lists = lists_of_new(self.nearest, found)
        for stored, head in zip(self.lists, self.heads, strict=True):
            before = lists.ids
            own = lists.first(self.params.k - 1).rows(self.weights, head.shape[1])
            scores = self._products(own, self._backward(stored, lists), head, found.ids)
            lists = self._sorted(scores, lists, queries, None)
        return self.followed_by_lists(self._reached(scores, None, top), lambda some: before[some])

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        reached = self._reached(self._counted(self.heads[-1], rows), rows, top)
        return self.followed_by_lists(reached, lambda some: self._before(rows[some]))

    def _counted(self, head: sparse.csr_array, rows: IntArray) -> sparse.csr_array:
        named_by = sparse.csr_array(head.T)
        return self._products(head[rows], named_by[rows], head, self.nearest.ids[rows])

    def _before(self, rows: IntArray) -> Int32Array:
        """The lists that the last round sorts."""
        lists = self.normalised[rows]
        for head in self.heads[:-1]:
            lists = sorted_anew(lists, self._counted(head, rows))
        return lists

    def _products(
        self, own: sparse.csr_array, named_by: sparse.csr_array, head: sparse.csr_array, near: Int32Array
    ) -> sparse.csr_array:
        """Rows of M: `own` their rows of P', `named_by` their columns, the diagonal of P being k.

        Only items in `near` are kept, the nearest by plain similarity.
        """
        k = np.float32(self.params.k)
        diagonal = sparse.diags_array(np.full(own.shape[0], k, np.float32))
        left = sparse.hstack([named_by, own, diagonal], format="csr")
        right = sparse.vstack([head, head.T, own + named_by], format="csr")
        products = multiply_capped(left, right, cap=ROOM * (self.nearest.k + 1))
        return sparse.csr_array(products.multiply(as_sparse(near, np.ones(near.shape), right.shape[1])))

    def _backward(self, stored: RankedLists, lists: RankedLists) -> sparse.csr_array:
        """P'_x(q): what the items of a query's list would weigh it, where it gets among their first k."""
        places = stored.places_of(lists.ids, lists.values)
        named = (lists.values > 0) & (places > 0) & (places < self.params.k)
        weights: Float32Array = np.where(named, self.params.k - places, 0).astype(np.float32)
        return as_sparse(lists.ids, weights, len(self.vectors))

    def _sorted(
        self, scores: sparse.csr_array, before: RankedLists, queries: Vectors, own: IntArray | None
    ) -> RankedLists:
        return lists_from_scores(scores, before, partial(self.similarities, queries), own)

    def _reached(self, scores: sparse.csr_array, own: IntArray | None, top: int) -> Reached:
        scaled = sparse.csr_array(scores / np.float32(self.params.k**3))
        return Reached.from_sparse(scaled, top, self.candidates, own)
