"""Training with proxies: every item once an epoch, proxies refreshed before each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from foldwalk.core.errors import BadParameter
from foldwalk.core.seeds import generator
from foldwalk.core.types import IntArray
from foldwalk.learn.edms.proxies import HardProxies
from foldwalk.learn.trainer.recipe import Embed, Recipe


class ProxyRecipe(Recipe):
    """Labels are meta-classes; `proxies` None: a loss without them."""

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
