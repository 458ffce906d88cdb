"""Pools as a miner of pytorch-metric-learning."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import torch
from pytorch_metric_learning.miners import BaseMiner
from torch import Tensor

from foldwalk.learn.kept_buffers import load_any_length
from foldwalk.learn.mining.pool_keys import find, pair_keys, sorted_keys
from foldwalk.learn.mining.pools import Pools
from foldwalk.learn.mining.tuples import hardest_negatives

Pairs = tuple[Tensor, Tensor, Tensor, Tensor]


class PoolMiner(BaseMiner):  # type: ignore[misc]
    """Every pair of a batch that the pools know: (anchors, positives, anchors, negatives).

    Item ids are the labels; one that the pools do not know, such as -1, has no pairs. What `refresh` kept is
    part of the state.
    """

    positive_keys: Tensor
    negative_keys: Tensor

    def __init__(self, pools: Pools, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pools = pools
        for name, ids in (("positive_keys", pools.positives), ("negative_keys", pools.negatives)):
            self.register_buffer(name, sorted_keys(pools, ids)[0])
            load_any_length(self, name)

    def refresh(self, embedding: npt.ArrayLike, count: int = 10) -> None:
        """Keep only the negatives that are hardest in the current embedding of all items."""
        harder = hardest_negatives(self.pools, embedding, count)
        self.negative_keys = sorted_keys(harder, harder.negatives)[0].to(self.negative_keys.device)

    def mine(self, embeddings: Tensor, labels: Tensor, ref_emb: Tensor, ref_labels: Tensor) -> Pairs:  # noqa: ARG002
        keys = pair_keys(labels[:, None], ref_labels[None, :], self.pools.items)
        a1, p = torch.where(find(keys, self.positive_keys.to(keys.device))[1])
        a2, n = torch.where(find(keys, self.negative_keys.to(keys.device))[1])
        return a1, p, a2, n
