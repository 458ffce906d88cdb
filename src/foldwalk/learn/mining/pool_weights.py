"""The weights +W (section 3.4, table 1) as a reducer of pytorch-metric-learning.

PML hands a reducer the labels of the batch, not those of a reference set, in which positives may lie: a hook
tells them before each call of the loss.
"""

from __future__ import annotations

from typing import Any, TypeVar

import torch
from pytorch_metric_learning.losses import BaseMetricLossFunction
from pytorch_metric_learning.reducers import MeanReducer
from torch import Tensor, nn

from foldwalk.core.errors import BadInput
from foldwalk.learn.mining.pool_keys import find, pair_keys, sorted_keys
from foldwalk.learn.mining.pools import Pools

Loss = TypeVar("Loss", bound=BaseMetricLossFunction)


class PoolWeightReducer(MeanReducer):  # type: ignore[misc]
    """The mean of losses times +W of their anchor and positive; item ids are the labels, as for PoolMiner.

    A loss of PML that is given a reference set, as in a CrossBatchMemory, is made by `weighted`.
    """

    keys: Tensor
    weights: Tensor

    def __init__(self, pools: Pools, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.items = pools.items
        self.ref_labels: Tensor | None = None
        keys, order = sorted_keys(pools, pools.positives)
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
        labels: Tensor | None,
    ) -> Tensor:
        others = labels if self.ref_labels is None else self.ref_labels.to(losses.device)
        anchors, positives = (place.to(losses.device) for place in indices)
        if labels is None or others is None or (len(positives) and int(positives.max()) >= len(others)):
            raise BadInput(UNKNOWN)
        keys = pair_keys(labels[anchors], others[positives], self.items)
        place, known = find(keys, self.keys.to(keys.device))
        if not bool(known.all()):
            raise BadInput(UNKNOWN)
        weights = self.weights.to(losses)[place]
        return (losses * weights).mean()


UNKNOWN = (
    "PoolWeightReducer weighs pairs of its pools, but these are none: hand in item ids as labels and the "
    "pairs of PoolMiner, and make losses that get a reference set by weighted(loss, pools)."
)


def tell_reference(loss: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Before a call of a loss: its PoolWeightReducers learn the ids of the reference set, if there is one."""
    ref_labels = kwargs.get("ref_labels", args[4] if len(args) > 4 else None)
    for part in loss.modules():
        if isinstance(part, PoolWeightReducer):
            part.ref_labels = ref_labels


def weighted(loss: Loss, pools: Pools) -> Loss:
    """A loss of PML with +W in place of its reducer, with or without a reference set."""
    loss.set_reducer(PoolWeightReducer(pools))
    loss.register_forward_pre_hook(tell_reference, with_kwargs=True)
    return loss
