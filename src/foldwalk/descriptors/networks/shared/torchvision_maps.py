"""The maps of torchvision's classifiers, which have three builds.

features      one part that gives the map (VGG, DenseNet, EfficientNet, MobileNet, ConvNeXt, Swin)
conv_proj     a vision transformer: tokens, with a class token before them
otherwise     parts in order up to the pooling or the head (ResNet, RegNet, ShuffleNet, MNASNet, MaxViT, and
              GoogLeNet and Inception, whose heads in the middle are left out)
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from foldwalk.core.errors import BadInput
from foldwalk.descriptors.networks.preprocessing import IMAGENET_MEAN, IMAGENET_STD
from foldwalk.descriptors.networks.shared.picture_module import PictureModule, Seen
from foldwalk.descriptors.networks.shared.tokens import on_map

ENDS = ("avgpool", "fc", "classifier", "heads", "head")  # what comes after the map
AUXILIARY = "aux"  # how heads in the middle are called, whatever the case


def torchvision_maps(model: Any, name: str) -> PictureModule:
    """The module that gives a classifier's maps."""
    if hasattr(model, "conv_proj") and hasattr(model, "encoder"):
        return TransformerMaps(model)
    names = [part for part, _ in model.named_children() if not part.lower().startswith(AUXILIARY)]
    if not any(end in names for end in ENDS):
        raise BadInput(
            f"{name} is no classifier whose features are known; choose another of torchvision's classifiers."
        )
    if hasattr(model, "features"):
        return FeatureMaps(model)
    return OrderedMaps(model, names[: min(names.index(end) for end in ENDS if end in names)])


class FeatureMaps(PictureModule):
    """`features`, and what Swin and DenseNet do to them before they are pooled."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.features = model.features
        self.norm = getattr(model, "norm", None)
        self.permute = getattr(model, "permute", None)
        self.rectify = type(model).__name__ == "DenseNet"  # it does so between its parts

    def forward(self, pixels: Tensor) -> Seen:
        maps = self.features(pixels)
        if self.norm is not None and self.permute is not None:
            maps = self.permute(self.norm(maps))
        return Seen(maps.relu() if self.rectify else maps, None)


class OrderedMaps(PictureModule):
    """Parts that are called one after the other; the items of a list of blocks, too.

    Models with `transform_input` were trained on pixels from -1 to 1, and bring those in ImageNet's
    normalisation there.
    """

    times: Tensor
    plus: Tensor

    def __init__(self, model: Any, names: list[str]) -> None:
        super().__init__()
        for part in names:
            self.add_module(f"part_{part}", getattr(model, part))  # MaxViT has a part called blocks
        self.transforms = bool(getattr(model, "transform_input", False))
        mean, std = (torch.tensor(three).reshape(3, 1, 1) for three in (IMAGENET_MEAN, IMAGENET_STD))
        self.register_buffer("times", std / 127.5, persistent=False)
        self.register_buffer("plus", mean / 127.5 - 1, persistent=False)

    def forward(self, pixels: Tensor) -> Seen:
        x = pixels * self.times + self.plus if self.transforms else pixels
        for part in self.children():
            for step in part if isinstance(part, nn.ModuleList) else (part,):
                x = step(x)
        return Seen(x, None)


class TransformerMaps(PictureModule):
    """Tokens and the class token of a vision transformer; pictures have the one size it was trained on."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.conv_proj, self.class_token, self.encoder = model.conv_proj, model.class_token, model.encoder

    def forward(self, pixels: Tensor) -> Seen:
        patches = self.conv_proj(pixels).flatten(2).transpose(1, 2)
        first = self.class_token.expand(pixels.shape[0], -1, -1)
        tokens = self.encoder(torch.cat([first, patches], dim=1))
        return Seen(on_map(tokens, pixels, self.conv_proj.stride)[0], tokens[:, 0])
