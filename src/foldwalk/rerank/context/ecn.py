"""Expanded cross neighbourhoods: two items are alike when the surroundings of each know the other.

M. S. Sarfraz, A. Schumann, A. Eberle and R. Stiefelhagen, "A pose-sensitive embedding for person
re-identification with expanded cross neighborhood re-ranking", CVPR 2018. Two items are compared by their
rank lists, cut to k, which the authors' program calls `rankdist`:

    R_i(j)    max(0, k - place of j among the nearest of i), the item itself at place 0
    s(i, j)   sum over b of R_i(b) R_j(b)                                                      (eq. 4)

The expanded neighbours M(p) are the t nearest of p and the q nearest of each of those, |M| = t + t q, and
the similarity is crossed, from the surroundings of each to the other:

    score(p, g) = 1 / (2 |M|)  sum over m of M(p) of s(m, g)  +  sum over m of M(g) of s(m, p),

divided here by s(p, p), which is the same for all. In matrices, with R of all items as rows, N marking each
item and its q nearest, T its t nearest, and |M| = T N 1,

    first sum    T N R R'  / |M(p)|        second sum    R (T N R)'  =  R R' N' T'  / |M(g)|,

of which only the rows of the queries are ever computed, factor by factor: an inverted list each of R, N and T
is all that is kept. Nothing is cut off, the form is exact. The other choice of s, plain distances
(`origdist`), is left out: rank lists are what the authors report.

An unseen query has a list and expanded neighbours of its own but no place in anybody else's.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.progress import task
from foldwalk.core.types import Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.graph import as_rows
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params, neighborhood
from foldwalk.rerank.registry import register
from foldwalk.walk import InvertedList

BLOCK = 1024


class ECNParams(Params):
    k: int = neighborhood(25, "length to which rank lists are compared, itself counted", low=2)
    t: int = neighborhood(3, "nearest items that are expanded")
    q: int = neighborhood(8, "nearest of each expanded item that join it")


@register
class ECN(Reranker):
    name = "ecn"
    family = "context"
    paper = "Sarfraz et al., A pose-sensitive embedding ... expanded cross neighborhood re-ranking, CVPR 2018"
    summary = "items are alike when the surroundings of each have rank lists like the other's"
    Parameters = ECNParams
    answers_from_rows = True
    takes_distances = True

    def _wanted(self, _: int) -> int:
        return self._width

    def _prepare(self) -> None:
        n, nearest = len(self.vectors), self.neighbors()
        itself = sparse.eye_array(n, format="csr", dtype=np.float32)
        self.lists = sparse.csr_array(self._rank_lists(nearest) + self.params.k * itself)
        self.near = sparse.csr_array(_choice(nearest, self.params.q, n) + itself)
        self.expanded = _choice(nearest, self.params.t, n)
        self.sizes = self._sizes(self.expanded)
        self.holders = InvertedList(self.lists)
        self.near_to = InvertedList(self.near)
        self.expanded_by = InvertedList(self.expanded)

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        found = self.search(queries, self._width)
        expanded = _choice(found, self.params.t, len(self.vectors))
        return self._cross(self._rank_lists(found), expanded, None, top)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        return self._cross(self.lists[rows], self.expanded[rows], rows, top)

    @property
    def _width(self) -> int:
        return int(max(self.params.k - 1, self.params.t, self.params.q))

    def _rank_lists(self, found: Neighbors) -> sparse.csr_array:
        """R of the neighbours, the item itself left out."""
        weights = np.maximum(self.params.k - 1 - np.arange(found.k), 0).astype(np.float32)
        return as_rows(found, np.broadcast_to(weights, found.ids.shape), len(self.vectors))

    def _sizes(self, expanded: sparse.csr_array) -> Float32Array:
        """|M|, at least one."""
        members = np.diff(self.near.indptr).astype(np.float32)
        return np.asarray(np.maximum(expanded @ members, np.float32(1)))

    def _cross(
        self, lists: sparse.csr_array, expanded: sparse.csr_array, own: IntArray | None, top: int
    ) -> Reached:
        """Surroundings against lists and lists against surroundings, in blocks of queries."""
        k, count = self.params.k, lists.shape[0]
        alike_to_itself = np.float32(k * (k + 1) * (2 * k + 1) / 6)
        reached = []
        with task("comparing neighbourhoods", count) as advance:
            for first in range(0, count, BLOCK):
                part = slice(first, min(first + BLOCK, count))
                here = sparse.csr_array(expanded[part])
                there = self.holders.overlap(sparse.csr_array(here @ self.near @ self.lists), "product")
                there.data /= np.repeat(self._sizes(here), np.diff(there.indptr))
                back = self.holders.overlap(sparse.csr_array(lists[part]), "product")
                back = self.expanded_by.overlap(self.near_to.overlap(back, "product"), "product")
                back.data /= self.sizes[back.indices]
                crossed = sparse.csr_array(there + back) / (2 * alike_to_itself)
                left_out = None if own is None else own[part]
                reached.append(Reached.from_sparse(crossed, top, self.candidates, left_out))
                advance(here.shape[0])
        return Reached.join(reached)


def _choice(found: Neighbors, first: int, columns: int) -> sparse.csr_array:
    """Ones at the first so many neighbours."""
    near = found.first(min(first, found.k))
    return as_rows(near, np.ones(near.ids.shape, np.float32), columns)
