"""How each method trains: which batches an epoch has, and what their loss is.

A recipe is told at the beginning of an epoch how to embed all training items; what it draws depends on the
seed and the number of the epoch alone, so that training can stop after any epoch and go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from foldwalk.core.errors import BadParameter
from foldwalk.core.seeds import generator
from foldwalk.core.types import Float32Array, IntArray
from foldwalk.learn.cgml.halves import HalvesSampler
from foldwalk.learn.edms.proxies import HardProxies
from foldwalk.learn.mining import ManifoldMiner, Pools, Tuples, draw_tuples, hardest_negatives
from foldwalk.learn.mining.pml import PoolWeightReducer, TupleContrastiveLoss, TupleTripletLoss
from foldwalk.learn.mining.pools import ARRAYS

Embed = Callable[[], Float32Array]


class Recipe:
    """Base: `module` holds the loss and whatever it learns."""

    module: nn.Module

    def begin_epoch(self, epoch: int, embed: Embed) -> None:
        """Called before the batches of an epoch are drawn; epochs count from 1."""

    def batches(self, epoch: int) -> Iterator[IntArray]:
        raise NotImplementedError

    def loss(self, embeddings: Tensor, items: IntArray) -> Tensor:
        """The loss of a batch; items are those that `batches` gave."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        return {"module": self.module.state_dict()}

    def load_state(self, state: dict[str, Any]) -> None:
        self.module.load_state_dict(state["module"])


class LabelledRecipe(Recipe):
    """Any loss with labels (`pml`, `cgml`): batches of a few classes in two aligned halves."""

    def __init__(
        self, labels: IntArray, loss: nn.Module, classes: int = 13, per_class: int = 10, seed: int = 0
    ) -> None:
        self.module = loss
        self.labels = torch.from_numpy(np.asarray(labels, dtype=np.int64))
        self.sampler = HalvesSampler(labels, classes, per_class, seed)

    def batches(self, epoch: int) -> Iterator[IntArray]:
        return self.sampler.draw(epoch)

    def loss(self, embeddings: Tensor, items: IntArray) -> Tensor:
        value: Tensor = self.module(embeddings, self.labels[torch.from_numpy(items)])
        return value


class ProxyRecipe(Recipe):
    """EDMS: every item once an epoch, meta-classes as labels, proxies refreshed before each epoch."""

    def __init__(
        self,
        meta_classes: IntArray,
        loss: nn.Module,
        proxies: HardProxies | None,
        batch: int = 128,
        seed: int = 0,
    ) -> None:
        if batch < 2:
            raise BadParameter(f"batch must be at least 2, but it is {batch}.")
        self.module, self.proxies, self.batch, self.seed = loss, proxies, batch, seed
        self.labels = torch.from_numpy(np.asarray(meta_classes, dtype=np.int64))

    def begin_epoch(self, epoch: int, embed: Embed) -> None:  # noqa: ARG002
        if self.proxies is not None:
            self.proxies.refresh(torch.from_numpy(embed()))

    def batches(self, epoch: int) -> Iterator[IntArray]:
        order = generator(self.seed, f"batches of epoch {epoch}").permutation(len(self.labels))
        for start in range(0, len(order) - 1, self.batch):
            yield order[start : start + self.batch]

    def loss(self, embeddings: Tensor, items: IntArray) -> Tensor:
        value: Tensor = self.module(embeddings, self.labels[torch.from_numpy(items)])
        return value

    def state(self) -> dict[str, Any]:
        return {}  # proxies come from the embedding, the losses learn nothing

    def load_state(self, state: dict[str, Any]) -> None:
        pass


class MinedRecipe(Recipe):
    """Mining on Manifolds: one tuple for each anchor and epoch; no labels.

    `hardest` negatives in the current embedding are drawn from (0: the whole pool, as for random negatives);
    every `iterate` epochs graph and pools are built anew from the embedding (0: never). Batches list the
    anchors, then the positives, then the negatives. `labels` are for miners that are oracles.
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
        reducer = PoolWeightReducer(pools) if self.weighted else None
        if self.kind == "contrastive":
            self.module = TupleContrastiveLoss(self.margin, reducer=reducer)
        else:
            self.module = TupleTripletLoss(self.margin, reducer=reducer)

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
