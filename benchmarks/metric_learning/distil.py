"""Before fine-tuning: the last blocks learn the photographs' vectors from the small pictures, without labels.

The target is the whitened feature of the full-size photograph (training classes only), matched by the
picture's name; the loss is one minus the cosine. The trained model is where CGML then begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from foldwalk import datasets
from foldwalk.core.seeds import generator
from foldwalk.core.types import Float32Array, IntArray
from foldwalk.learn.trainer.config import Config
from foldwalk.learn.trainer.evaluation import split_classes
from foldwalk.learn.trainer.inputs import Inputs
from foldwalk.learn.trainer.lite0 import LastBlocks
from foldwalk.learn.trainer.loop import Trainer
from foldwalk.learn.trainer.making import make_model
from foldwalk.learn.trainer.recipe import Recipe

BATCH = 64


class CosineRecipe(Recipe):
    """Every item once an epoch, in batches at random; each has a unit vector to come close to."""

    def __init__(self, targets: Tensor, seed: int) -> None:
        self.module, self.targets, self.seed = nn.Identity(), targets, seed

    def batches(self, epoch: int) -> Iterator[IntArray]:
        order = generator(self.seed, f"pictures of epoch {epoch}").permutation(len(self.targets))
        yield from np.split(order, range(BATCH, len(order), BATCH))

    def loss(self, embeddings: Tensor, items: IntArray) -> Tensor:
        wanted = self.targets[torch.from_numpy(items)]
        return 1 - functional.cosine_similarity(embeddings, wanted).mean()


def full_size_features(config: Config, root: Path | None) -> Float32Array:
    """Of the pictures to train on, in their order."""
    name = config.data.train
    photographs = datasets.load(name, root=root, kind="features")
    pictures = datasets.load(name, root=root, kind="pictures")
    assert photographs.gallery is not None
    assert photographs.gallery_paths is not None
    assert pictures.gallery_paths is not None
    places = {path.name: place for place, path in enumerate(photographs.gallery_paths)}
    found = photographs.gallery[[places[path.name] for path in pictures.gallery_paths]]
    if config.data.held_out:
        found = found[split_classes(np.asarray(pictures.labels), config.data.held_out)[0]]
    return np.asarray(found, dtype=np.float32)


def distilled(config: Config, train: Inputs, targets: Float32Array) -> LastBlocks:
    """The model after this training; its head begins as the whitening of the photographs' features."""
    model = make_model(config, Inputs(train.inputs, train.labels, targets))
    assert isinstance(model, LastBlocks)
    with torch.no_grad():
        wanted = functional.normalize(model.head(torch.from_numpy(targets)))
    settings = config.training
    Trainer(model, train.inputs, CosineRecipe(wanted, config.training.seed), settings).fit()
    return model
