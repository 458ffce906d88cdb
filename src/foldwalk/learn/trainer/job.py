"""A whole training by its configuration: data, model, loop, export."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from foldwalk.learn.sections import by_whole_name
from foldwalk.learn.trainer.checkpoint import fingerprint
from foldwalk.learn.trainer.config import Config
from foldwalk.learn.trainer.export import PictureModel, export_onnx
from foldwalk.learn.trainer.inputs import Inputs, split
from foldwalk.learn.trainer.lite0 import LastBlocks, lite0
from foldwalk.learn.trainer.loop import Trainer
from foldwalk.learn.trainer.models import Head, HeadSpec, make_conv_net, make_head
from foldwalk.learn.trainer.recipe import Recipe


def make_model(config: Config, train: Inputs) -> nn.Module:
    m, seed = config.model, config.training.seed
    if m.kind == "conv":
        return make_conv_net(m.dim, seed)
    kind = "linear" if m.kind == "last_blocks" else m.kind
    spec = HeadSpec(kind, train.features.shape[1], m.dim, m.hidden, m.dropout, m.power, m.share)
    head: Head = make_head(spec, train.features, m.init, m.shrinkage, seed)
    return LastBlocks(lite0(), m.first_block, head) if m.kind == "last_blocks" else head


@dataclass(frozen=True, eq=False)
class Trained:
    """The model, and the figures after each epoch; of an ensemble after each member more.

    `recipe` is what it was trained by, where there is one for all of it.
    """

    model: nn.Module
    history: list[dict[str, float]]
    recipe: Recipe | None = None


@dataclass(frozen=True, eq=False)
class Job:
    """What a training is run with; `folder`, if any, receives what it writes. Without `test` nothing is
    measured."""

    config: Config
    train: Inputs
    test: Inputs | None
    folder: Path | None

    def fit(self, recipe: Recipe, told: Mapping[str, Any] | None = None) -> Trained:
        """Train the configured model by a recipe; `told` is what the training was told, by name."""
        model = by_whole_name("model", self.config.model)
        trainer = Trainer(
            make_model(self.config, self.train),
            self.train.inputs,
            recipe,
            self.config.training,
            None if self.test is None else (self.test.inputs, self.test.classes),
            self.folder,
            {**(told or {}), **model, "classes": self._classes()},
        )
        return Trained(trainer.model, trainer.fit(), recipe)

    def _classes(self) -> str:
        return "none" if self.train.labels is None else fingerprint(self.train.labels)


def run_job(
    name: str, config: Config, folder: str | os.PathLike[str] | None = None, root: Path | None = None
) -> Trained:
    """Run a training by name as configured; with `folder`, write log, checkpoint and model.onnx there."""
    training = config.chosen(name)
    target = None if folder is None else Path(folder)
    trained = training.run(Job(config, *split(config, root), target))
    if target is not None:
        export_pictures(trained, config, target / "model.onnx")
    return trained


def export_pictures(trained: Trained, config: Config, path: Path) -> None:
    """The model as a backbone, for `foldwalk index --backbone`."""
    m = config.model
    side = 28 if m.kind == "conv" else m.size
    fit = m.fit if m.kind == "last_blocks" else "squash"
    export_onnx(PictureModel(trained.model, m.first_block, side, fit), path)
