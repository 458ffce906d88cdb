"""Training on mined tuples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from pytorch_metric_learning.reducers import MeanReducer
from torch import Tensor

from foldwalk.core.errors import BadParameter
from foldwalk.core.seeds import generator
from foldwalk.core.types import Float32Array, IntArray
from foldwalk.learn.mining import ManifoldMiner, Pools, Tuples, draw_tuples, hardest_negatives
from foldwalk.learn.mining.pool_weights import PoolWeightReducer
from foldwalk.learn.mining.pools import ARRAYS
from foldwalk.learn.mining.tuple_losses import TupleContrastiveLoss, TupleTripletLoss
from foldwalk.learn.trainer.recipe import Embed, Recipe


class MinedRecipe(Recipe):
    """One tuple for each anchor and epoch; no labels.

    `hardest` negatives in the current embedding are drawn from (0: the whole pool, as for random negatives);
    every `iterate` epochs graph and pools are built anew from the embedding (0: never). Batches list the
    anchors, then the positives, then the negatives. `labels` are for miners that are oracles. The loss is the
    mean over the tuples of a batch, `weighted` or not.
    """

    def __init__(
        self,
        features: Float32Array,
        miner: ManifoldMiner,
        *,
        labels: IntArray | None = None,
        loss: str = "triplet",
        margin: float = 0.5,
        weighted: bool = True,
        hardest: int = 10,
        iterate: int = 0,
        tuples: int = 42,
        seed: int = 0,
    ) -> None:
        if loss not in ("triplet", "contrastive"):
            raise BadParameter(f"mined tuples go with the loss triplet or contrastive, not {loss!r}.")
        self.miner, self.kind, self.margin, self.weighted = miner, loss, margin, weighted
        self.hardest, self.iterate, self.tuples, self.seed = hardest, iterate, tuples, seed
        self.labels = labels
        self._adopt(miner.fit(features, labels).pools)
        self._drawn: Tuples | None = None

    def _adopt(self, pools: Pools) -> None:
        self.pools = pools
        kind = TupleContrastiveLoss if self.kind == "contrastive" else TupleTripletLoss
        self.module = kind(self.margin, reducer=PoolWeightReducer(pools) if self.weighted else MeanReducer())

    def begin_epoch(self, epoch: int, embed: Embed) -> None:
        if self.iterate and epoch > 1 and (epoch - 1) % self.iterate == 0:
            self._adopt(self.miner.fit(embed(), self.labels).pools)
        pools = hardest_negatives(self.pools, embed(), self.hardest) if self.hardest else self.pools
        self._drawn = draw_tuples(pools, generator(self.seed, f"tuples of epoch {epoch}"))

    def batches(self, epoch: int) -> Iterator[IntArray]:  # noqa: ARG002
        assert self._drawn is not None
        for start in range(0, len(self._drawn), self.tuples):
            some = slice(start, start + self.tuples)
            yield np.concatenate(
                [self._drawn.anchors[some], self._drawn.positives[some], self._drawn.negatives[some]]
            )

    def loss(self, embeddings: Tensor, items: IntArray) -> Tensor:
        triplets = tuple(torch.arange(len(items)).chunk(3))
        value: Tensor = self.module(embeddings, torch.from_numpy(items), triplets)
        return value

    def state(self) -> dict[str, Any]:
        arrays = {name: torch.from_numpy(np.asarray(getattr(self.pools, name))) for name in ARRAYS}
        return {"items": self.pools.items, **arrays}

    def load_state(self, state: dict[str, Any]) -> None:
        self._adopt(Pools(state["items"], *(state[name].numpy() for name in ARRAYS)))
