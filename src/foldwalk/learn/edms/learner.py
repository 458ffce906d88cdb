"""One learner of an ensemble: its meta-classes, its head on features, its loss; values of section 8."""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foldwalk.core.types import Float32Array, IntArray
from foldwalk.learn.edms.metaclasses import random_meta_classes
from foldwalk.learn.edms.recipe import ProxyRecipe
from foldwalk.learn.edms.variants import make_row
from foldwalk.learn.labelled import LabelledRecipe
from foldwalk.learn.loss_names import make_loss
from foldwalk.learn.trainer.loop import Trainer
from foldwalk.learn.trainer.models import Head, HeadSpec, make_head
from foldwalk.learn.trainer.recipe import Recipe
from foldwalk.learn.trainer.settings import TrainingSettings

PAPER = TrainingSettings(epochs=10, learning_rate=1e-4, weight_decay=1e-5, schedule="step", every=3)


@dataclass(frozen=True)
class Learner:
    """How one member learns: a row of table 2 on `meta_classes` groups of classes, a head on features.

    `loss`, a name of make_loss, takes the place of the row, in batches of `per_class` pictures of as many
    meta-classes as `batch` holds. `power` and `share` are those of the head.
    """

    variant: str = "full"
    meta_classes: int = 50
    dim: int = 128
    head: str = "linear"
    init: str = "whiten"
    shrinkage: float = 0.98
    dropout: float = 0.0
    batch: int = 128
    alpha: float = 0.8
    similarity: str = "paper"
    scale: float | None = None
    steps: int = 100
    proxy_rate: float = 1e-3
    settings: TrainingSettings = PAPER
    loss: str = ""
    per_class: int = 8
    power: float = 1.0
    share: float = 1.0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"settings": self.settings.model_dump()}

    @property
    def begins_alike(self) -> bool:
        """Whether all members begin with one head: a projection of all the features."""
        return self.init != "random" and self.share == 1

    def start(self, features: Float32Array, seed: int) -> Head:
        """The head before training."""
        spec = HeadSpec(
            self.head,  # type: ignore[arg-type]
            features.shape[1],
            self.dim,
            dropout=self.dropout,
            power=self.power,
            share=self.share,
        )
        return make_head(spec, features, self.init, self.shrinkage, seed)  # type: ignore[arg-type]

    def trainer(self, head: Head, features: Float32Array, labels: IntArray, seed: int) -> Trainer:
        """A trainer of one member that begins with `head`."""
        settings = self.settings.model_copy(update={"seed": seed})
        return Trainer(head, features, self.recipe(labels, seed), settings)

    def recipe(self, labels: IntArray, seed: int) -> Recipe:
        """Batches and loss over random meta-classes."""
        count = min(self.meta_classes, len(np.unique(labels)))
        groups = random_meta_classes(labels, count, seed)
        if self.loss:
            classes = max(2, min(count, self.batch // self.per_class))
            loss = make_loss(self.loss, None, count, self.dim, seed)
            return LabelledRecipe(groups, loss, classes, self.per_class, seed)
        row, proxies = make_row(
            self.variant,
            groups,
            seed,
            alpha=self.alpha,
            variant=self.similarity,  # type: ignore[arg-type]
            scale=self.scale,
            steps=self.steps,
            proxy_rate=self.proxy_rate,
        )
        return ProxyRecipe(groups, row, proxies, self.batch, seed)


def train_member(
    learner: Learner, start: Head | None, features: Float32Array, labels: IntArray, seed: int, threads: int
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """One member from `start` or a head of its own: what it is, and its weights. Runs in its own process."""
    torch.set_num_threads(threads)
    head = learner.start(features, seed) if start is None else copy.deepcopy(start)
    learner.trainer(head, features, labels, seed).fit()
    return head.spec.as_dict(), head.cpu().state_dict()
