"""A whole training by its configuration: data, model, loop, export."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from foldwalk.core.types import AnyArray
from foldwalk.learn.sections import by_whole_name
from foldwalk.learn.trainer.before import check_export, check_origin, check_packages
from foldwalk.learn.trainer.checkpoint import fingerprint
from foldwalk.learn.trainer.config import Config
from foldwalk.learn.trainer.export import export_onnx
from foldwalk.learn.trainer.inputs import Inputs, split
from foldwalk.learn.trainer.loop import Trainer
from foldwalk.learn.trainer.making import make_model, of_pictures_alone
from foldwalk.learn.trainer.pictures import PictureFiles
from foldwalk.learn.trainer.processes import is_main
from foldwalk.learn.trainer.recipe import Recipe


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
        augment = by_whole_name("augment", self.config.augment) if self.config.model.streams else {}
        learner = make_model(self.config, self.train)
        if self.folder is not None:
            check_export(learner, self.config.model)
        trainer = Trainer(
            learner,
            self._as_configured(self.train.inputs),
            recipe,
            self.config.training,
            None if self.test is None else (self._as_configured(self.test.inputs), self.test.classes),
            self.folder,
            {**(told or {}), **model, **augment, "classes": self._classes()},
        )
        return Trained(trainer.model, trainer.fit(), recipe)

    def _classes(self) -> str:
        return "none" if self.train.labels is None else fingerprint(self.train.labels)

    def _as_configured(self, inputs: AnyArray | PictureFiles) -> AnyArray | PictureFiles:
        """Pictures are read and changed as the configuration says."""
        if not isinstance(inputs, PictureFiles):
            return inputs
        t = self.config.training
        return replace(inputs, augment=self.config.augment, seed=t.seed, readers=t.readers)


def run_job(
    name: str, config: Config, folder: str | os.PathLike[str] | None = None, root: Path | None = None
) -> Trained:
    """Run a training by name as configured; with `folder`, write log, checkpoint and model.onnx there."""
    training = config.chosen(name)
    target = None if folder is None else Path(folder)
    network = "" if config.model.kind == "conv" else config.model.network
    check_packages(name, target is not None, network)
    if target is not None:
        check_origin(config, root)
    trained = training.run(Job(config, *split(config, root), target))
    if target is not None and is_main():
        export_pictures(trained, config, target / "model.onnx")
    return trained


def export_pictures(trained: Trained, config: Config, path: Path) -> None:
    """The model as a backbone, for `foldwalk index --backbone`."""
    export_onnx(of_pictures_alone(trained.model, config.model), path)
