"""Expanded cross neighbourhoods: two items are alike when the surroundings of each know the other.

M. S. Sarfraz, A. Schumann, A. Eberle and R. Stiefelhagen, "A pose-sensitive embedding for person
re-identification with expanded cross neighborhood re-ranking", CVPR 2018. Two items are compared by their
rank lists, cut to k:

    R_i(j)    max(0, k - place of j among the nearest of i), the item itself at place 0
    s(i, j)   sum over b of R_i(b) R_j(b)

The expanded neighbours M(p) are the t nearest of p and the q nearest of each of those, |M| = t + t q, and
the similarity is crossed, from the surroundings of each to the other:

    score(p, g) = 1 / (2 |M|)  sum over m of M(p) of s(m, g)  +  sum over m of M(g) of s(m, p),

divided here by s(p, p), which is the same for all. The mean over M goes into the rows: with X_p the mean of
R_m over M(p), the score is (X_p . R_g + R_p . X_g) / 2, one product of sparse rows through an inverted
list. Nothing is cut off, the form is exact. The paper gives plain distances as the other choice of s; rank
lists are what the authors report.

An unseen query has a list and expanded neighbours of its own but no place in anybody else's.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.graph import as_rows
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.context.compare import compare_rows
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params, neighborhood
from foldwalk.rerank.registry import register
from foldwalk.walk import InvertedList


class ECNParams(Params):
    k: int = neighborhood(25, "length to which rank lists are compared, itself counted", low=2)
    t: int = neighborhood(3, "nearest items that are expanded")
    q: int = neighborhood(8, "nearest of each expanded item that join it")


@register
class ECN(Reranker):
    name = "ecn"
    family = "context"
    paper = "Sarfraz et al., Person re-identification with expanded cross neighborhood re-ranking, CVPR 2018"
    summary = "items are alike when the surroundings of each have rank lists like the other's"
    Parameters = ECNParams

    def _prepare(self) -> None:
        self.nearest = self.neighbors(self._width)
        itself = sparse.eye_array(len(self.vectors), format="csr", dtype=np.float32)
        self.lists = sparse.csr_array(self._rank_lists(self.nearest) + self.params.k * itself)
        itself_and_near = _choice(self.nearest, self.params.q, len(self.vectors)) + itself
        self.members = itself_and_near.sum(axis=1)
        self.summed = sparse.csr_array(itself_and_near @ self.lists)
        self.around = self._surroundings(self.nearest)
        # Turned around one by one and put below each other: quicker than side by side and turned around.
        turned = [rows[: self.candidates].T.tocsr() for rows in (self.lists, self.around)]
        self.inverted = InvertedList(sparse.vstack(turned, format="csr").T)

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        found = self.search(queries, self._width)
        return self._cross(self._rank_lists(found), self._surroundings(found), None, top)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        return self._cross(self.lists[rows], self.around[rows], rows, top)

    @property
    def _width(self) -> int:
        return int(max(self.params.k - 1, self.params.t, self.params.q))

    def _rank_lists(self, found: Neighbors) -> sparse.csr_array:
        """R of the neighbours, the item itself left out."""
        weights = np.maximum(self.params.k - 1 - np.arange(found.k), 0).astype(np.float32)
        return as_rows(found, np.broadcast_to(weights, found.ids.shape), len(self.vectors))

    def _surroundings(self, found: Neighbors) -> sparse.csr_array:
        """X: the mean rank list over the expanded neighbours, each of the t with its q summed up before."""
        chosen = _choice(found, self.params.t, len(self.vectors))
        around = sparse.csr_array(chosen @ self.summed)
        sizes = np.maximum(chosen @ self.members, np.float32(1))
        around.data /= np.repeat(sizes, np.diff(around.indptr))
        return around

    def _cross(
        self, lists: sparse.csr_array, around: sparse.csr_array, own: IntArray | None, top: int
    ) -> Reached:
        """Surroundings against lists and lists against surroundings."""
        k = self.params.k
        crossed = sparse.hstack([around, lists], format="csr") / np.float32(k * (k + 1) * (2 * k + 1) / 3)
        return compare_rows(self.inverted, crossed, "product", top, self.candidates, own)


def _choice(found: Neighbors, first: int, columns: int) -> sparse.csr_array:
    """Ones at the first so many neighbours; its products with rows sum these up."""
    near = found.first(min(first, found.k))
    return as_rows(near, np.ones(near.ids.shape, np.float32), columns)
