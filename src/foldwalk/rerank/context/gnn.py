"""Re-ranking as a graph network without weights: neighbourhood rows spread over the nearest items, twice.

X. Zhang, M. Jiang, Z. Zheng, X. Tan, E. Ding and Y. Yang, "Understanding image retrieval re-ranking: a graph
neural network perspective", arXiv 2012.07620, 2020 (section 2 of the CAS paper calls it ConAff). Each item
starts as the row that marks its k1 nearest, itself counted, and every layer makes rows symmetric, adds up
those of the k2 nearest, itself counted, and scales to length one:

    A_i(j) = 1 where j is among the k1 nearest of i                            (step `build_adjacency_matrix`)
    A <- A + A^T
    h_i <- h_i + sum over j of the k2 nearest of  max(s_ij, 0)^alpha h_j,   h_i / |h_i|
                                                                               (step `gnn_propagate`)

two layers, rows of A as the first h, alpha = 2; the score is the dot product of two final rows. Steps are
named as in the authors' program. An item is its own nearest with s = 1, so its own row counts twice, as
there. Their values for Market-1501 are k1 = 26 and k2 = 7.

Rows grow with every layer, so each keeps its `keep` largest entries; `dense=True` keeps them all, for at
most 5,000 items. With 256 entries the first fifty were the same to .999 and mAP within .03 on the synthetic
sets of 1,000 and 2,000 items; with 64 entries .962 and .5.

An unseen query is nobody's neighbour yet. In the first layer an item j counts twice in its row where each
is among the nearest of the other, as A + A^T would have it; in the second, its column is taken to equal its
row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import Field
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.graph import Numbering, as_rows, cosine_power, radius
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.context.shared.compare import compare_rows
from foldwalk.rerank.kept import Kept
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params, neighborhood, uncut
from foldwalk.rerank.registry import register
from foldwalk.walk import InvertedList, multiply_capped, scale_rows


class GNNParams(Params):
    k1: int = neighborhood(26, "nearest items that an item's first row marks, itself counted", low=2)
    k2: int = neighborhood(7, "nearest items whose rows are added up in a layer, itself counted")
    alpha: float = Field(2.0, ge=0, le=100, description="power of the similarity that weighs a row")
    keep: int = Field(256, ge=1, le=100_000, description="largest entries that a row keeps after a layer")
    dense: bool = uncut()


@register
class GNN(Reranker):
    name = "gnn"
    family = "context"
    paper = "Zhang et al., Understanding image retrieval re-ranking: a graph neural network perspective, 2020"
    summary = "rows of neighbours spread over the nearest items in two layers, then are compared"
    Parameters = GNNParams
    answers_from_rows = True
    takes_distances = True

    def _wanted(self, _: int) -> int:
        return self._width

    def _prepare(self) -> None:
        n = len(self.vectors)
        neighbors = self._numbered(self.neighbors())
        marks = sparse.csr_array(self._marks(neighbors) + sparse.eye_array(n, dtype=np.float32))
        self.first = sparse.csr_array(marks + marks.T)
        spread = self._layer(neighbors, self.first, self.first)
        self.second = sparse.csr_array(spread + spread.T)
        self.final = self._layer(neighbors, self.second, self.second)
        self._look_up(neighbors)

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        found = self.search(queries, self._width)
        found = replace(found, ids=self.numbering.renumber(found.ids))
        mutual = found.similarities >= self.radius[found.ids]
        spread = self._layer(found, self._marks(found, 1 + mutual), self.first)
        final = self._layer(found, 2 * spread, self.second)
        return compare_rows(self.lists, final, "product", top, self.candidates, None)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        final = self.final[self.numbering.place[rows]]
        return compare_rows(self.lists, final, "product", top, self.candidates, rows)

    def _state(self) -> dict[str, Any]:
        rows = {"first": self.first, "second": self.second, "final": self.final}
        return {"order": self.numbering.order} | rows

    def _restore(self, kept: Kept) -> None:
        n = len(self.vectors)
        self.numbering = Numbering(kept.order("order", n))
        self.first, self.second, self.final = (kept.rows(name, n, n) for name in ("first", "second", "final"))
        self._look_up(self.numbering.neighbors(self.neighbors()))

    def _numbered(self, neighbors: Neighbors) -> Neighbors:
        """All rows are kept by places, which differ from the items' own numbers in a large gallery."""
        self.numbering = Numbering.of(neighbors)
        return self.numbering.neighbors(neighbors)

    def _look_up(self, neighbors: Neighbors) -> None:
        self.radius = radius(neighbors, self.params.k1 - 1)
        self.lists = InvertedList(self.final, self.numbering.order)

    @property
    def _width(self) -> int:
        return int(max(self.params.k1 - 1, self.params.k2 - 1))

    def _marks(self, found: Neighbors, values: AnyArray | None = None) -> sparse.csr_array:
        """The first row without the item itself: ones, or the values given, for the k1 - 1 nearest."""
        marks = np.ones(found.ids.shape, np.float32) if values is None else values.astype(np.float32)
        marks[:, self.params.k1 - 1 :] = 0
        return as_rows(found, marks, len(self.vectors))

    def _layer(self, found: Neighbors, own: sparse.csr_array, rows: sparse.csr_array) -> sparse.csr_array:
        """h after one layer: twice the own row and the weighed rows of the k2 - 1 nearest, scaled."""
        weights = cosine_power(found, self.params.alpha)
        weights[:, self.params.k2 - 1 :] = 0
        around = as_rows(found, weights, rows.shape[0])
        twice = sparse.diags_array(np.full(own.shape[0], 2, np.float32))
        left = sparse.hstack([twice, around], format="csr")
        right = sparse.vstack([own, rows], format="csr")
        return scale_rows(multiply_capped(left, right, self.limit("keep")), "l2")
