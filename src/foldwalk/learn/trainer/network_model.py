"""Any network of pictures with a head, trained in part or as a whole on pictures as they are read."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from foldwalk.core.errors import BadParameter
from foldwalk.core.progress import task
from foldwalk.core.types import Float32Array
from foldwalk.descriptors import networks
from foldwalk.descriptors.networks.shared.devices import device_of
from foldwalk.descriptors.networks.shared.network import Network
from foldwalk.descriptors.networks.shared.pooling import Pooling
from foldwalk.learn.trainer.batches import Source, pieces_of
from foldwalk.learn.trainer.config import Model


class NetworkModel(nn.Module):
    """Pictures (n, height, width, 3) of bytes to embeddings: a network, pooling, a head."""

    def __init__(self, network: Network, pooling: str, head: nn.Module) -> None:
        super().__init__()
        self.network, self.pixels, self.pooling = network.module, network.pixels, Pooling(pooling)
        self.head = head
        self.preprocessing = network.preprocessing
        self.trunk: list[nn.Parameter] = []

    def seen(self, pixels: Tensor) -> Tensor:
        """Unlike `forward`, of pixels (n, 3, height, width) that are normalised already."""
        embedded: Tensor = self.head(self.pooling(self.network(pixels)))
        return embedded

    def forward(self, pictures: Tensor) -> Tensor:
        return self.seen(self.pixels(pictures))

    def free(self, kind: str, blocks: int) -> None:
        """Let the last `blocks` be trained, or with "whole" all of it; the rest is the trunk then."""
        whole = kind == "whole"
        groups = self.network.freeze("all" if whole else "last_blocks", blocks)
        first = len(self.network.blocks) - 1 - blocks
        if whole and first < 1:
            raise BadParameter(f"the network has {len(self.network.blocks) - 2} blocks, fewer than {blocks}.")
        self.trunk = [p for group in groups if group["block"] < first for p in group["params"]]
        self._freeze_unused()

    def _freeze_unused(self) -> None:
        """Where no gradient comes (a class token that is not pooled, say), processes would wait for one."""
        side = self.preprocessing.size
        self.eval()
        self.seen(torch.zeros(1, 3, side, side)).sum().backward()  # type: ignore[no-untyped-call]
        for parameter in self.network.parameters():
            parameter.requires_grad_(parameter.grad is not None)
        self.zero_grad()


def chosen_network(model: Model) -> tuple[Network, str]:
    """The network of a configuration, and the pooling."""
    network = networks.load(model.network)
    pooling = model.pooling or network.own_pooling
    if pooling == "cls" and not network.own_dim:
        raise BadParameter(
            f"{model.network} has no vector of its own: choose another model.pooling than cls."
        )
    return network, pooling


@torch.no_grad()
def network_features(network: Network, pooling: str, pictures: Source) -> Float32Array:
    """What a network makes of pictures before it is trained, (n, d)."""
    device = device_of("auto")
    network.to(device)
    found = np.empty((len(pictures), network.width(pooling)), dtype=np.float32)
    with task("features", len(pictures), unit="pictures") as advance:
        pieces = pieces_of(np.arange(len(pictures)), pictures.at_once)
        for rows, batch in zip(pieces, pictures.as_they_are(pieces), strict=True):
            found[rows] = network.vectors(batch.to(device), pooling).float().cpu().numpy()
            advance(len(rows))
    return found
