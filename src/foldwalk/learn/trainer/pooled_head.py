"""A head on what effnet_lite0 gives, by either of its poolings, as a model of pictures."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from foldwalk.descriptors import networks
from foldwalk.descriptors.networks.preprocessing import IMAGENET_MEAN, IMAGENET_STD, Preprocessing
from foldwalk.descriptors.networks.shared.pooling import Pooling

NETWORK = "effnet_lite0"
# The backbones whose features become a head's, and how they pool; those of several sizes are not among them.
POOLINGS = {"effnet_lite0": "gap", "effnet_lite0:rmac": "rmac"}


class PooledHead(nn.Module):
    """Pictures (n, 3, side, side) in ImageNet normalisation to unit vectors."""

    mean: Tensor
    spread: Tensor

    def __init__(self, backbone: str, head: nn.Module) -> None:
        super().__init__()
        network = networks.load(NETWORK)
        own = network.preprocessing
        self.network, self.pooling, self.head = network.module, Pooling(POOLINGS[backbone]), head
        self.side, self.fit = own.size, own.fit
        self.preprocessing = Preprocessing(size=own.size, fit=own.fit)
        # From one normalisation to the other in one step: (x * std + mean - its mean) / its std.
        mean, std = torch.tensor(own.mean), torch.tensor(own.std)
        self.register_buffer("spread", (torch.tensor(IMAGENET_STD) / std).reshape(3, 1, 1))
        self.register_buffer("mean", ((torch.tensor(IMAGENET_MEAN) - mean) / std).reshape(3, 1, 1))

    def forward(self, pictures: Tensor) -> Tensor:
        seen = self.network(pictures * self.spread + self.mean)
        return functional.normalize(self.head(self.pooling(seen)))
