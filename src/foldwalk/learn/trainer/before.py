"""What can be known before the first epoch: packages that are missing, models that could not be exported."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import numpy as np
from torch import nn

from foldwalk import datasets
from foldwalk.core.errors import BadInput, one_line
from foldwalk.core.types import AnyArray
from foldwalk.descriptors import backbone
from foldwalk.descriptors.backbones.base import need
from foldwalk.descriptors.decode import load_picture
from foldwalk.descriptors.limits import Unreadable
from foldwalk.learn.trainer.config import LITE0, Config, Model
from foldwalk.learn.trainer.export import FEATURES, to_onnx
from foldwalk.learn.trainer.making import of_pictures_alone
from foldwalk.learn.trainer.processes import is_main

PACKAGES = ("accelerate", "pytorch_metric_learning", "safetensors")
TO_EXPORT = ("onnx", "onnxruntime")
LOOKED_AT = 3  # pictures whose features are computed again
ALIKE = 0.98  # cosine of features that differ by rounding and the decoder alone


def check_packages(name: str, exports: bool) -> None:
    for package in PACKAGES:
        need(package, "learn", f"foldwalk train {name}")
    for package in TO_EXPORT if exports else ():
        need(package, "images", "Exporting what was trained")


def check_origin(config: Config, root: Path | None) -> None:
    """Features from a file must be those of effnet_lite0: the head is joined to it.

    Files do not say what made them. Where the pictures are there, some are described again and compared.
    """
    if config.model.kind not in ("linear", "mlp") or config.model.network != LITE0:
        return
    name = config.data.train
    found = datasets.load(name, root=root, kind="features")
    if found.gallery is None:
        return
    if found.gallery.shape[1] != FEATURES:
        raise BadInput(
            f"the features of {name} have {found.gallery.shape[1]} numbers, but {LITE0} gives {FEATURES}: a "
            "head on them cannot become a model of pictures; set model.network to the network that made them."
        )
    again = _described(list(found.gallery_paths or []), found.gallery)
    if again is None:
        if is_main():
            warnings.warn(
                f"the features of {name} do not say what made them, and its pictures are not there: "
                f"model.onnx will take them for those of {LITE0}.",
                stacklevel=2,
            )
    elif again < ALIKE:
        raise BadInput(
            f"the features of {name} are not those of {LITE0} (computed again their cosine is {again:.2f}): "
            "a head on them cannot be joined to it; set model.network to the network that made them."
        )


def _described(paths: list[Path], features: AnyArray) -> float | None:
    """The least cosine of a picture's features in the file and computed anew; None without pictures."""
    if not paths:
        return None
    rows = np.unique(np.linspace(0, len(paths) - 1, LOOKED_AT).astype(int))
    network = backbone(LITE0)
    try:
        pictures = [load_picture(paths[row], short_side=network.short_side) for row in rows]
    except Unreadable:
        return None
    mine, theirs = network.embed(pictures), np.asarray(features[rows], dtype=np.float32)
    lengths = np.linalg.norm(mine, axis=1) * np.linalg.norm(theirs, axis=1)
    return float(((mine * theirs).sum(1) / np.maximum(lengths, 1e-12)).min())


def check_export(model: nn.Module, m: Model) -> None:
    """Networks that ONNX cannot hold are refused before they are trained; effnet_lite0 is known to do."""
    if m.network == LITE0 and not m.streams:
        return
    try:
        to_onnx(of_pictures_alone(model, m), io.BytesIO())
    except Exception as error:  # the exporter fails in ways of its own
        raise BadInput(f"{m.network} cannot be exported as ONNX: {one_line(error)}.") from None
