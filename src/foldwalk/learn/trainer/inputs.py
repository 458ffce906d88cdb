"""What a training sees: a data set as the model takes it, cut into items to train on and to test on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from foldwalk import datasets
from foldwalk.core.errors import BadInput
from foldwalk.core.seeds import generator
from foldwalk.core.types import AnyArray, IntArray
from foldwalk.learn.trainer.config import LITE0, Config, Model
from foldwalk.learn.trainer.evaluation import split_classes
from foldwalk.learn.trainer.lite0 import activations, pooled
from foldwalk.learn.trainer.network_model import chosen_network, network_features
from foldwalk.learn.trainer.pictures import PictureFiles

PLAIN_AND_MIRRORED = 2  # views of a picture to test on


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the model sees, the classes, and what is mined from or whitened (features; else the inputs)."""

    inputs: AnyArray | PictureFiles
    labels: IntArray
    features: AnyArray

    def rows(self, rows: IntArray) -> Inputs:
        return Inputs(self.inputs[rows], self.labels[rows], self.features[rows])


def load_inputs(
    name: str, model: Model, root: Path | None = None, views: int = PLAIN_AND_MIRRORED
) -> tuple[Inputs, AnyArray]:
    """A data set as a model takes it, and its labels as they are called."""
    on_pictures = model.kind in ("last_blocks", "whole") or model.network != LITE0
    kind = "pixels" if model.kind == "conv" else "pictures" if on_pictures else "features"
    found = datasets.load(name, root=root, kind=kind)
    if found.labels is None:
        raise BadInput(f"{name} has no classes to train with.")
    names = np.asarray(found.labels)
    codes = np.unique(names, return_inverse=True)[1].astype(np.int64)
    if kind == "pictures":
        if found.gallery_paths is None:
            raise BadInput(f"the pictures of {name} are not there; a head on its features can be trained.")
        if model.streams or model.kind != "last_blocks":
            return of_pictures(list(found.gallery_paths), codes, model), names
        maps = activations(list(found.gallery_paths), model.first_block, model.size, model.fit, views)
        return Inputs(maps, codes, pooled(maps, model.first_block)), names
    if found.gallery is None:
        raise BadInput(f"{name} has no {kind} to train on.")
    if model.kind == "conv":
        side = round(found.gallery.shape[1] ** 0.5)
        ink = (1 - found.gallery.reshape(-1, 1, side, side) / 255).astype(np.float32)
        return Inputs(ink, codes, ink.reshape(len(ink), -1)), names
    return Inputs(found.gallery, codes, found.gallery), names


def of_pictures(paths: Sequence[Path], labels: IntArray, model: Model) -> Inputs:
    """Pictures for any network: read anew in every epoch, or once, for a head on what the network sees."""
    network, pooling = chosen_network(model)
    files = PictureFiles(paths, network.preprocessing)
    features = network_features(network, pooling, files)
    return Inputs(files if model.streams else features, labels, features)


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
