"""`foldwalk.descriptors.pooling` in torch, so that gradients flow through it: the same numbers.

gap mac gem rmac   of the map
cls                the model's own vector
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from foldwalk.core.errors import BadParameter
from foldwalk.descriptors.backbones.options import check_choice
from foldwalk.descriptors.networks.shared.picture_module import Seen
from foldwalk.descriptors.pooling import regions_of

LEAST = 1e-6


def gap(maps: Tensor) -> Tensor:
    return maps.flatten(2).mean(2)


def mac(maps: Tensor) -> Tensor:
    return maps.flatten(2).amax(2)


def gem(maps: Tensor, p: float = 3.0) -> Tensor:
    return maps.flatten(2).clamp(min=LEAST).pow(p).mean(2).pow(1 / p)


def rmac(maps: Tensor) -> Tensor:
    regions = regions_of(int(maps.shape[2]), int(maps.shape[3]))
    found = [mac(maps[:, :, r.top : r.top + r.side, r.left : r.left + r.side]) for r in regions]
    return functional.normalize(functional.normalize(torch.stack(found), dim=2).sum(0))


OF_MAPS: dict[str, Callable[[Tensor], Tensor]] = {"gap": gap, "mac": mac, "gem": gem, "rmac": rmac}
POOLINGS = (*OF_MAPS, "cls")


class Pooling(nn.Module):
    """What a network sees to one vector for each picture, (n, d), not normalised."""

    def __init__(self, pooling: str) -> None:
        super().__init__()
        self.pooling = check_choice("pooling", pooling, POOLINGS)

    def forward(self, seen: Seen) -> Tensor:
        if self.pooling != "cls":
            return OF_MAPS[self.pooling](seen.map)
        if seen.cls is None:
            raise BadParameter(f"the network has no vector of its own: choose {', '.join(OF_MAPS)}.")
        return seen.cls
