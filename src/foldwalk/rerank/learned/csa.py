"""Contextual similarity aggregation: items are alike when they are similar to the same anchors.

J. Ouyang, H. Wu, M. Wang, W. Zhou and H. Li, "Contextual similarity aggregation with self-attention for
visual re-ranking", NeurIPS 2021 (in brief: section 2 of the CAS paper). Anchors are the query and its
nearest items. The query and each of its k nearest items are described by their similarities to the anchors;
self-attention lets the descriptions

    f_i = (s(x_i, a_1), ..., s(x_i, a_L))

exchange what they know, and the k items are ranked by the cosine of what comes out for them and for the
query. It is trained to tell friends (who belongs with the query) from strangers by these cosines, in the
contrastive way, and by how well f can be had back from what comes out.

Readings and deviations: the paper re-ranks hundreds of items by hundreds of anchors in a deep, wide network
that is trained with labels on another collection. Ours re-ranks 128 by 64 in two layers as wide as the
anchors, is trained on the gallery itself on pairs that its graph agrees on (see `shortlists.py`, also for
given labels), and counts similarities from the mean over all pairs. On lists of 128 the far end of the
query's own group stands too: whom a chain of such pairs joins with the query is no stranger. The projection
starts orthogonal and the residual branches at zero: untrained, items are ranked by the cosine of their f with
the query's. Once trained, the score is mixed with plain similarity as far as held-out pairs ask for it. What
is not on the list follows by plain similarity.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from foldwalk.core.types import Float32Array, Int32Array
from foldwalk.rerank.learned.shared.shortlists import ShortlistNetwork, ShortlistParams
from foldwalk.rerank.learned.shared.training import need_torch
from foldwalk.rerank.params import neighborhood
from foldwalk.rerank.registry import register


class CSAParams(ShortlistParams):
    k: int = neighborhood(128, "nearest items that are re-ranked")
    anchors: int = neighborhood(64, "the query and its nearest items that describe the others", low=2)
    reconstruction: float = Field(1.0, ge=0, le=1000, description="weight of having the description back")
    layers: int = Field(2, ge=1, le=12, description="layers of self-attention")
    heads: int = Field(4, ge=1, le=64, description="heads of each layer")


@register
class CSA(ShortlistNetwork):
    name = "csa"
    family = "learned"
    paper = "Ouyang et al., Contextual similarity aggregation with self-attention, NeurIPS 2021"
    summary = "items are alike when they are similar to the same anchors, as self-attention sees it"
    Parameters = CSAParams
    doubts_chains = True

    def _network(self) -> Any:
        from foldwalk.rerank.learned.shared.attention import AffinityAggregation

        return AffinityAggregation(self.params.anchors, self.params.layers, self.params.heads)

    def _affinity(self, queries: Float32Array, ids: Int32Array) -> Float32Array:
        """f of the query and of each item on its list; zero beside absent anchors."""
        listed = np.concatenate([queries[:, None], self.items_of(ids)], axis=1)
        known = np.pad(ids >= 0, ((0, 0), (1, 0)), constant_values=True)
        many = min(self.params.anchors, listed.shape[1])
        pairs = known[:, :, None] & known[:, None, :many]
        affinity = self.similarity(listed, listed[:, :many], pairs)
        return np.pad(affinity, ((0, 0), (0, 0), (0, self.params.anchors - many)))

    def _read(self, queries: Float32Array, ids: Int32Array) -> tuple[Any, Any]:
        torch = need_torch(self.name)
        absent = torch.from_numpy(np.pad(ids < 0, ((0, 0), (1, 0))))
        scores, lost = self.network(torch.from_numpy(self._affinity(queries, ids)), absent)
        self._lost = lost
        return scores, lost

    def _scores(self, queries: Float32Array, ids: Int32Array) -> Any:
        return self._read(queries, ids)[0]

    def _loss(self, queries: Float32Array, ids: Int32Array, friends: Any, strangers: Any) -> Any:
        return super()._loss(queries, ids, friends, strangers) + self.params.reconstruction * self._lost
