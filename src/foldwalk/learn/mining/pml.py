"""Pools inside a training loop of pytorch-metric-learning: item ids take the place of labels.

    miner = PoolMiner(pools)
    loss = loss_function(embeddings, item_ids, miner(embeddings, item_ids))

Any loss that takes pairs or triplets works, also inside CrossBatchMemory. `TupleContrastiveLoss` is eq. 7,
`TupleTripletLoss` eq. 8, which PML has as TripletMarginLoss with LpDistance(power=2). `PoolWeightReducer`
multiplies what belongs to an anchor and a positive by their weight +W (section 3.4, table 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from pytorch_metric_learning.distances import LpDistance
from pytorch_metric_learning.losses import BaseMetricLossFunction, TripletMarginLoss
from pytorch_metric_learning.miners import BaseMiner
from pytorch_metric_learning.reducers import BaseReducer
from pytorch_metric_learning.utils import loss_and_miner_utils as lmu
from torch import Tensor
from torch.nn import functional

from foldwalk.core.types import AnyArray, Int32Array
from foldwalk.learn.mining.pools import Pools
from foldwalk.learn.mining.tuples import hardest_negatives

Pairs = tuple[Tensor, Tensor, Tensor, Tensor]


def _sorted_keys(pools: Pools, ids: Int32Array) -> tuple[Tensor, AnyArray]:
    """anchor * items + example for every example, ascending; and the order that sorts them."""
    keys = (pools.anchors[:, None] * pools.items + ids)[ids >= 0]
    order = np.argsort(keys, kind="stable")
    return torch.from_numpy(keys[order]), order


def _find(sorted_keys: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """Where each key stands, and whether it is there at all."""
    if not len(sorted_keys):
        return torch.zeros_like(keys), torch.zeros_like(keys, dtype=torch.bool)
    place = torch.searchsorted(sorted_keys, keys).clamp(max=len(sorted_keys) - 1)
    return place, sorted_keys[place] == keys


class PoolMiner(BaseMiner):  # type: ignore[misc]
    """Every pair of a batch that the pools know: (anchors, positives, anchors, negatives)."""

    positive_keys: Tensor
    negative_keys: Tensor

    def __init__(self, pools: Pools, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pools = pools
        self.register_buffer("positive_keys", _sorted_keys(pools, pools.positives)[0], persistent=False)
        self.register_buffer("negative_keys", _sorted_keys(pools, pools.negatives)[0], persistent=False)

    def refresh(self, embedding: npt.ArrayLike, count: int = 10) -> None:
        """Keep only the negatives that are hardest in the current embedding of all items."""
        harder = hardest_negatives(self.pools, embedding, count)
        self.negative_keys = _sorted_keys(harder, harder.negatives)[0].to(self.negative_keys.device)

    def mine(self, embeddings: Tensor, labels: Tensor, ref_emb: Tensor, ref_labels: Tensor) -> Pairs:  # noqa: ARG002
        keys = labels.long()[:, None] * self.pools.items + ref_labels.long()[None, :]
        a1, p = torch.where(_find(self.positive_keys, keys)[1])
        a2, n = torch.where(_find(self.negative_keys, keys)[1])
        return a1, p, a2, n


class PoolWeightReducer(BaseReducer):  # type: ignore[misc]
    """The mean of losses times +W of their anchor and positive; item ids are the labels, as for PoolMiner."""

    def __init__(self, pools: Pools, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.items = pools.items
        keys, order = _sorted_keys(pools, pools.positives)
        self.register_buffer("keys", keys, persistent=False)
        weights = pools.positive_weights[pools.positives >= 0][order]
        self.register_buffer("weights", torch.from_numpy(weights), persistent=False)

    def triplet_reduction(self, losses: Tensor, indices: Any, embeddings: Tensor, labels: Tensor) -> Tensor:
        return self.pos_pair_reduction(losses, indices[:2], embeddings, labels)

    def pos_pair_reduction(
        self,
        losses: Tensor,
        indices: Any,
        embeddings: Tensor,  # noqa: ARG002
        labels: Tensor,
    ) -> Tensor:
        anchors, positives = (labels[place].long() for place in indices)
        place, known = _find(self.keys, anchors * self.items + positives)
        weights = torch.where(known, self.weights[place], torch.ones_like(self.weights[place]))
        return (losses * weights.to(losses.dtype)).mean()

    def neg_pair_reduction(self, losses: Tensor, *_: Any) -> Tensor:
        return losses.mean()

    def element_reduction(self, losses: Tensor, *_: Any) -> Tensor:
        return losses.mean()


class TupleTripletLoss(TripletMarginLoss):  # type: ignore[misc]
    """[m + |zr - z+|^2 - |zr - z-|^2]_+ for each triplet (eq. 8).

    PML's own computes all distances of a batch; a batch of tuples has a few that matter.
    """

    def compute_loss(
        self, embeddings: Tensor, labels: Tensor, indices_tuple: Any, ref_emb: Tensor, ref_labels: Tensor
    ) -> dict[str, Any]:
        triplets = lmu.convert_to_triplets(indices_tuple, labels, ref_labels, t_per_anchor="all")
        anchors, positives, negatives = triplets
        if not len(anchors):
            zero: dict[str, Any] = self.zero_losses()
            return zero
        unit = functional.normalize(embeddings)
        others = unit if ref_emb is embeddings else functional.normalize(ref_emb)
        near = (unit[anchors] - others[positives]).square().sum(1)
        far = (unit[anchors] - others[negatives]).square().sum(1)
        losses = torch.relu(self.margin + near - far)
        return {"loss": {"losses": losses, "indices": triplets, "reduction_type": "triplet"}}


class TupleContrastiveLoss(BaseMetricLossFunction):  # type: ignore[misc]
    """|zr - z+|^2 + [m - |zr - z-|]_+^2 for each triplet (eq. 7)."""

    def __init__(self, margin: float = 0.7, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.margin = margin
        self.add_to_recordable_attributes(name="margin", is_stat=False)

    def compute_loss(
        self, embeddings: Tensor, labels: Tensor, indices_tuple: Any, ref_emb: Tensor, ref_labels: Tensor
    ) -> dict[str, Any]:
        triplets = lmu.convert_to_triplets(indices_tuple, labels, ref_labels, t_per_anchor="all")
        anchors, positives, negatives = triplets
        if not len(anchors):
            zero: dict[str, Any] = self.zero_losses()
            return zero
        distances = self.distance(embeddings, ref_emb)
        gap = torch.relu(self.margin - distances[anchors, negatives])
        losses = distances[anchors, positives] ** 2 + gap**2
        return {"loss": {"losses": losses, "indices": triplets, "reduction_type": "triplet"}}

    def get_default_distance(self) -> LpDistance:
        return LpDistance(p=2, power=1)
