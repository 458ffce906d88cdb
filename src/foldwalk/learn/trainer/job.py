"""A whole training by its configuration: data, model, loop, export."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch import nn

from foldwalk import datasets
from foldwalk.core.errors import BadInput
from foldwalk.core.seeds import generator
from foldwalk.core.types import AnyArray, IntArray
from foldwalk.learn.trainer.config import Config, Model
from foldwalk.learn.trainer.evaluation import split_classes
from foldwalk.learn.trainer.export import PictureModel, export_onnx
from foldwalk.learn.trainer.lite0 import LastBlocks, activations, lite0, pooled
from foldwalk.learn.trainer.loop import Trainer
from foldwalk.learn.trainer.models import Head, HeadSpec, make_conv_net, make_head
from foldwalk.learn.trainer.recipe import Recipe

PLAIN_AND_MIRRORED = 2  # views of a picture to test on


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the model sees, the classes, and what is mined from or whitened (features; else the inputs)."""

    inputs: AnyArray
    labels: IntArray
    features: AnyArray

    def rows(self, rows: IntArray) -> Inputs:
        return Inputs(self.inputs[rows], self.labels[rows], self.features[rows])


def load_inputs(
    name: str, model: Model, root: Path | None = None, views: int = PLAIN_AND_MIRRORED
) -> tuple[Inputs, AnyArray]:
    """A data set as a model takes it, and its labels as they are called."""
    kind = {"conv": "pixels", "last_blocks": "pictures"}.get(model.kind, "features")
    found = datasets.load(name, root=root, kind=kind)
    if found.labels is None:
        raise BadInput(f"{name} has no classes to train with.")
    names = np.asarray(found.labels)
    codes = np.unique(names, return_inverse=True)[1].astype(np.int64)
    if model.kind == "last_blocks":
        if found.gallery_paths is None:
            raise BadInput(f"the pictures of {name} are not there; a head on its features can be trained.")
        maps = activations(list(found.gallery_paths), model.first_block, model.size, model.fit, views)
        return Inputs(maps, codes, pooled(maps, model.first_block)), names
    if found.gallery is None:
        raise BadInput(f"{name} has no {kind} to train on.")
    if model.kind == "conv":
        side = round(found.gallery.shape[1] ** 0.5)
        ink = (1 - found.gallery.reshape(-1, 1, side, side) / 255).astype(np.float32)
        return Inputs(ink, codes, ink.reshape(len(ink), -1)), names
    return Inputs(found.gallery, codes, found.gallery), names


def split(config: Config, root: Path | None = None) -> tuple[Inputs, Inputs]:
    """The inputs to train on and those to test on, as the configuration says."""
    train, names = load_inputs(config.data.train, config.model, root, config.model.views)
    if config.data.test:
        test = None if config.data.held_out else load_inputs(config.data.test, config.model, root)[0]
        groups = names
    else:
        groups = np.array([str(name).partition("/")[0] for name in names])
        inside, outside = split_groups(names)
        test, train, groups = train.rows(outside), train.rows(inside), groups[inside]
    if config.data.held_out:
        inside, outside = split_classes(groups, config.data.held_out)
        test, train = train.rows(outside), train.rows(inside)
    assert test is not None
    codes = np.unique(train.labels, return_inverse=True)[1].astype(np.int64)
    return Inputs(train.inputs, codes, train.features), test


def split_groups(names: AnyArray) -> tuple[IntArray, IntArray]:
    """Items of half of the groups, and of the other half; a class's group is the text before "/"."""
    groups = np.array([str(name).partition("/")[0] for name in names])
    order = generator(0, "groups to train on").permutation(np.unique(groups))
    inside = np.isin(groups, order[: (len(order) + 1) // 2])
    if inside.all():
        raise BadInput("all classes belong to one group; name a data set to test on.")
    return np.flatnonzero(inside), np.flatnonzero(~inside)


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
    """The model, and the figures after each epoch; of an ensemble after each member more."""

    model: nn.Module
    history: list[dict[str, float]]


@dataclass(frozen=True, eq=False)
class Job:
    """What a training is run with; `folder`, if any, receives what it writes."""

    config: Config
    train: Inputs
    test: Inputs
    folder: Path | None

    def fit(self, recipe: Recipe) -> Trained:
        """Train the configured model by a recipe."""
        trainer = Trainer(
            make_model(self.config, self.train),
            self.train.inputs,
            recipe,
            self.config.training,
            (self.test.inputs, self.test.labels),
            self.folder,
        )
        return Trained(trainer.model, trainer.fit())


def run_job(
    name: str, config: Config, folder: str | os.PathLike[str] | None = None, root: Path | None = None
) -> Trained:
    """Run a training by name as configured; with `folder`, write log, checkpoint and model.onnx there."""
    training = config.chosen(name)
    target = None if folder is None else Path(folder)
    trained = training.run(Job(config, *split(config, root), target))
    if target is not None:
        m = config.model
        side = 28 if m.kind == "conv" else m.size
        fit = m.fit if m.kind == "last_blocks" else "squash"
        export_onnx(PictureModel(trained.model, m.first_block, side, fit), target / "model.onnx")
    return trained
