"""Sparse contextual activation: each item activates its nearest ones, and activations are compared as sets.

S. Bai and X. Bai, "Sparse contextual activation for efficient visual re-ranking", IEEE TIP 2016. With d the
squared Euclidean distance over the largest in its row:

    F_i(j)   exp(-d(i, j)) on the k1 nearest, itself counted, scaled to sum one     (activation)
    F_i      sum of F over the k2 nearest, itself counted           (local consistency enhancement)
    score    m / (2 k2 - m),   m = sum min(F_i, F_j)                (generalised Jaccard, section III.C)

There is no test of reciprocity and no part of the plain distance in the score. k1 = 4 and k2 = 2 are the
published values; they reach few items, and the rest follows by plain similarity. Our defaults, 12 and 5,
reach more: mAP 93.2 against 89.6 on orl, 80.4 against 73.2 on mpeg7, 76.2 against 66.4 on digits, 64.3
against 53.2 on grocery; Recall@1 is up to 5.5 points lower. Rows are compared through an inverted list, the
paper's own device, and nothing is cut off.

An unseen query activates its nearest items and borrows the stored activations of its neighbours; its own
entry has no column, but counts in the sum.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.graph import as_rows, relative_exponential
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.context.shared.compare import compare_rows
from foldwalk.rerank.fusion import row_maximum
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params, neighborhood
from foldwalk.rerank.registry import register
from foldwalk.walk import InvertedList


class SCAParams(Params):
    k1: int = neighborhood(12, "nearest items that an item activates, itself counted")
    k2: int = neighborhood(5, "nearest items whose activations are added up, itself counted")


@register
class SCA(Reranker):
    name = "sca"
    family = "context"
    paper = "Bai and Bai, Sparse contextual activation for efficient visual re-ranking, TIP 2016"
    summary = "items are alike when the nearest items they activate are alike"
    Parameters = SCAParams
    takes_distances = True

    def _wanted(self, _: int) -> int:
        return self._width

    def _prepare(self) -> None:
        neighbors = self.neighbors()
        self.activation = self._activate(neighbors, self.vectors, np.arange(len(self.vectors)))
        self.enhanced = self._enhance(self.activation, neighbors)
        self.lists = InvertedList(self.enhanced[: self.candidates])

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        found = self.search(queries, max(self._width, 1))
        return self._compare(self._enhance(self._activate(found, queries, None), found), None, top)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        return self._compare(self.enhanced[rows], rows, top)

    @property
    def _width(self) -> int:
        return int(max(self.params.k1 - 1, self.params.k2 - 1))

    def _activate(self, found: Neighbors, queries: Vectors, own: IntArray | None) -> sparse.csr_array:
        """exp(-d) on the k1 nearest, scaled to sum one; the item itself, at distance 0, is worth 1 of it."""
        near = found.first(min(self.params.k1 - 1, found.k))
        weights = relative_exponential(near, row_maximum(self.few, queries, found), sigma=1.0)
        share = 1 / (1 + weights.sum(axis=1, keepdims=True))
        rows = as_rows(near, weights * share, len(self.vectors))
        if own is None:
            return rows
        return sparse.csr_array(rows + sparse.diags_array(share.ravel()))

    def _enhance(self, activation: sparse.csr_array, found: Neighbors) -> sparse.csr_array:
        """An activation and the stored ones of the k2 - 1 nearest, added up; halved or so to sum one."""
        near = found.first(min(self.params.k2 - 1, found.k))
        chosen = as_rows(near, np.ones(near.ids.shape, np.float32), len(self.vectors))
        summed = activation + chosen @ self.activation
        counts = 1 + np.diff(chosen.indptr)
        return sparse.csr_array(sparse.diags_array((1 / counts).astype(np.float32)) @ summed)

    def _compare(self, rows: sparse.csr_array, own: IntArray | None, top: int) -> Reached:
        """m / (2 k2 - m) rises with m: ranked by m, of rows that sum one, and turned afterwards."""
        common = compare_rows(self.lists, rows, "minimum", top, self.candidates, own)
        return Reached(common.ids, common.scores / (2 - common.scores))
