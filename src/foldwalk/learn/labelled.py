"""Training with any loss that takes labels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from foldwalk.core.types import IntArray
from foldwalk.learn.cgml.halves import HalvesSampler
from foldwalk.learn.trainer.recipe import Recipe


class LabelledRecipe(Recipe):
    """Batches of a few classes in two aligned halves."""

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
