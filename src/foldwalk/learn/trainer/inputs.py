"""What a training sees: a data set or material of one's own as the model takes it, cut into items to train on
and to test on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from foldwalk import datasets
from foldwalk.core.errors import BadInput
from foldwalk.core.seeds import generator
from foldwalk.core.types import AnyArray, IntArray
from foldwalk.learn.trainer.config import LITE0, Config, Model
from foldwalk.learn.trainer.evaluation import split_classes
from foldwalk.learn.trainer.lite0 import activations, pooled
from foldwalk.learn.trainer.material import Material, chosen_of
from foldwalk.learn.trainer.network_model import chosen_network, network_features
from foldwalk.learn.trainer.pictures import PictureFiles

PLAIN_AND_MIRRORED = 2  # views of a picture to test on


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the model sees, the classes, and what is mined from or whitened (features; else the inputs).

    `labels` is None where there are no classes; `keys` and `paths` say whose they are, where that is known.
    """

    inputs: AnyArray | PictureFiles
    labels: IntArray | None
    features: AnyArray
    keys: Sequence[str] | None = None
    paths: Sequence[Path] | None = None

    def rows(self, rows: IntArray) -> Inputs:
        labels = None if self.labels is None else self.labels[rows]
        keys, paths = chosen_of(self.keys, rows), chosen_of(self.paths, rows)
        return Inputs(self.inputs[rows], labels, self.features[rows], keys, paths)

    @property
    def classes(self) -> IntArray:
        """The labels, for trainings that cannot do without."""
        if self.labels is None:
            raise BadInput("this training learns from labels, but the items to train on have none.")
        return self.labels

    def relabelled(self) -> Inputs:
        """The classes numbered from 0, as losses count them; -1 is none where some have no class."""
        if self.labels is None or self.labels.min() < 0:
            return replace(self, labels=None)
        return replace(self, labels=np.unique(self.labels, return_inverse=True)[1].astype(np.int64))


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
        return of_pictures(list(found.gallery_paths), codes, model, views), names
    if found.gallery is None:
        raise BadInput(f"{name} has no {kind} to train on.")
    if model.kind == "conv":
        side = round(found.gallery.shape[1] ** 0.5)
        ink = (1 - found.gallery.reshape(-1, 1, side, side) / 255).astype(np.float32)
        return Inputs(ink, codes, ink.reshape(len(ink), -1)), names
    return Inputs(found.gallery, codes, found.gallery), names


def of_pictures(paths: Sequence[Path], labels: IntArray | None, model: Model, views: int) -> Inputs:
    """Pictures for any network: read anew in every epoch, or once, for a head on what the network sees, or
    for the last blocks of effnet_lite0, which receive `views` of each."""
    if model.kind == "last_blocks" and not model.streams:
        maps = activations(list(paths), model.first_block, model.size, model.fit, views)
        return Inputs(maps, labels, pooled(maps, model.first_block))
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
    return train.relabelled(), test


def split_material(material: Material, model: Model, outside: IntArray) -> tuple[Inputs, Inputs | None]:
    """Material as the model takes it: what is trained on, and the items `outside`, to measure on."""
    inside = np.setdiff1d(np.arange(len(material)), outside)
    train = _of_material(material.rows(inside), model, model.views).relabelled()
    return train, _of_material(material.rows(outside), model, PLAIN_AND_MIRRORED) if len(outside) else None


def sees_pictures(model: Model) -> bool:
    """Whether it is made from pictures: not a head on vectors that somebody has."""
    return model.kind in ("last_blocks", "whole") or model.network != LITE0 or bool(model.pooling)


def _of_material(material: Material, model: Model, views: int) -> Inputs:
    labels = None if material.labels is None else material.codes()
    if sees_pictures(model):
        assert material.paths is not None
        seen = of_pictures(material.paths, labels, model, views)
        return replace(seen, keys=material.keys, paths=material.paths)
    assert material.vectors is not None
    return Inputs(material.vectors, labels, material.vectors, material.keys, material.paths)


def split_groups(names: AnyArray) -> tuple[IntArray, IntArray]:
    """Items of half of the groups, and of the other half; a class's group is the text before "/"."""
    groups = np.array([str(name).partition("/")[0] for name in names])
    order = generator(0, "groups to train on").permutation(np.unique(groups))
    inside = np.isin(groups, order[: (len(order) + 1) // 2])
    if inside.all():
        raise BadInput("all classes belong to one group; name a data set to test on.")
    return np.flatnonzero(inside), np.flatnonzero(~inside)
