"""Attention query expansion: a transformer decides how much each of the nearest items adds to the query.

A. Gordo, F. Radenovic and T. Berg, "Attention-based query expansion learning", ECCV 2020. The query and its
k nearest items pass through self-attention, so that each is judged in the company of the others; with phi
what comes out,

    w_i = cos(phi(q), phi(x_i))^a,    q' = q + sum over i of w_i x_i  (eq. 1),    then a second plain search.

`dba=True` (LAttDBA) expands every item in the same way, by its k nearest or, where that is given, its `dba_k`
nearest. Readings and deviations: the paper's network has three layers of 64 heads in 2,048 dimensions and is
trained on a large labelled collection. Ours has two layers of four heads on the 128 leading principal axes,
is trained on the gallery itself, on pairs that its graph agrees on (see `shortlists.py`, also for given
labels), each friend against the strangers on the list, and without the paper's auxiliary classifier. The
power a is ours and starts at 3; the residual branches start at zero, so that the untrained network is
alpha-QE (`alpha_qe.py`), exactly where 128 axes hold all of the vectors. Weights are scaled by the trust of
`shortlists.py`. Expansion never uses other queries: `rerank` equals `fit` and `rank`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import Field

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import Float32Array, Int32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors import Searcher, prepare
from foldwalk.rerank.learned.shared.shortlists import ShortlistNetwork, ShortlistParams
from foldwalk.rerank.learned.shared.space import Space
from foldwalk.rerank.learned.shared.training import need_torch
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import neighborhood
from foldwalk.rerank.registry import register


class LAttQEParams(ShortlistParams):
    k: int = neighborhood(32, "nearest items that may add to the query")
    dba: bool = Field(False, description="also expand every item by its nearest")
    dba_k: int = neighborhood(
        0, "with dba: nearest items that may add to an item, at most k; 0: as many as k", low=0
    )
    dimensions: int = Field(128, ge=1, le=10_000, description="principal axes that attention reads")
    layers: int = Field(2, ge=1, le=12, description="layers of self-attention")
    heads: int = Field(4, ge=1, le=64, description="heads of each layer")


@register
class LAttQE(ShortlistNetwork):
    name = "lattqe"
    family = "learned"
    paper = "Gordo et al., Attention-based query expansion learning, ECCV 2020"
    summary = "query expansion whose weights a transformer learns from the graph"
    Parameters = LAttQEParams
    joins_graph = False

    def _wanted(self, n: int) -> int:
        return int(max(super()._wanted(n), self._around_an_item))

    @property
    def _around_an_item(self) -> int:
        p = self.params
        return min(p.dba_k or p.k, p.k) if p.dba else 0

    def _describe(self) -> None:
        self.space = Space.learn(self.vectors, self.params.metric, self.params.dimensions)

    def _network(self) -> Any:
        from foldwalk.rerank.learned.shared.attention import ExpansionWeights

        p = self.params
        return ExpansionWeights(p.dimensions, p.k, p.layers, p.heads)

    def _finished(self) -> None:
        self.expanded = self.searcher
        if self.params.dba:
            around = self.neighbors(self._around_an_item)
            items = self._expand(self.vectors.values, around)
            gallery = Vectors(items.values[: self.candidates])
            self.expanded = Searcher(gallery, self.params.metric, seed=self.seed)

    def _scores(self, queries: Float32Array, ids: Int32Array) -> Any:
        """Similarity of the expanded query to the items of its list, as training sees it."""
        return self._similarities(queries, ids, 1.0)

    def _blends(self, queries: Float32Array, ids: Int32Array, trusts: Sequence[float]) -> list[Float32Array]:
        return [np.asarray(self._similarities(queries, ids, trust).numpy()) for trust in trusts]

    def _similarities(self, queries: Float32Array, ids: Int32Array, trust: float) -> Any:
        torch = need_torch(self.name)
        around = torch.from_numpy(self.items_of(ids))
        expanded = self._mean(queries, ids, around, trust)
        if self.params.metric == "cosine":
            return torch.einsum("bkd,bd->bk", around, torch.nn.functional.normalize(expanded))
        distance = ((around - expanded[:, None]) ** 2).sum(dim=2).clamp(min=1e-12).sqrt()
        return 1 / (1 + distance)

    def _mean(self, queries: Float32Array, ids: Int32Array, around: Any, trust: float) -> Any:
        """(q + sum w x) / (1 + sum w), the weights times the trust."""
        torch = need_torch(self.name)
        listed = np.concatenate([queries[:, None], around.numpy()], axis=1)
        tokens = self.space.place(listed.reshape(-1, listed.shape[2])).reshape(*listed.shape[:2], -1)
        tokens = np.pad(tokens, ((0, 0), (0, 0), (0, self.params.dimensions - tokens.shape[2])))
        absent = np.pad(ids < 0, ((0, 0), (1, 0)))
        weights = trust * self.network(torch.from_numpy(tokens), torch.from_numpy(absent))
        total = torch.from_numpy(queries) + torch.einsum("bk,bkd->bd", weights, around)
        return total / (1 + weights.sum(dim=1, keepdim=True))

    def _expand(self, queries: Float32Array, found: Neighbors) -> Vectors:
        torch = need_torch(self.name)
        ids, trust = self.padded(found.ids), float(self.network.trust)
        out = np.empty_like(queries)
        with torch.no_grad():
            for part in self.parts(len(queries)):
                around = torch.from_numpy(self.items_of(ids[part]))
                out[part] = self._mean(queries[part], ids[part], around, trust).numpy()
        return prepare(Vectors(out, self.vector_scale), self.params.metric, self.vector_scale)

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        return self._second_search(queries, self.search(queries, self.params.k), None, top)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        queries = Vectors(self.vectors.values[rows])
        return self._second_search(queries, self.search_rows(rows, self.params.k), rows, top)

    def _second_search(self, queries: Vectors, found: Neighbors, own: IntArray | None, top: int) -> Reached:
        again = self.expanded.search(self._expand(queries.values, found), min(top, self.candidates), own)
        return Reached(again.ids, again.similarities)
