"""A torch module of one's own as a network."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from foldwalk.core.errors import BadInput
from foldwalk.descriptors.networks.preprocessing import Preprocessing
from foldwalk.descriptors.networks.shared.network import Network
from foldwalk.descriptors.networks.shared.picture_module import PictureModule, Seen


class OwnModule(PictureModule):
    """Around a module that gives a map (n, c, h, w), a vector (n, d), or `Seen`."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, pixels: Tensor) -> Seen:
        return as_seen(self.inner(pixels))


def as_seen(found: Any) -> Seen:
    """A vector is its own map of one place."""
    if isinstance(found, Seen):
        return found
    if isinstance(found, Tensor) and found.ndim == 2:
        return Seen(found[:, :, None, None], found)
    if isinstance(found, Tensor) and found.ndim == 4:
        return Seen(found, None)
    told = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
    raise BadInput(f"a network gives a map (n, c, h, w) or vectors (n, d), not {told}")


def own_network(
    module: nn.Module, *, preprocessing: Preprocessing, name: str, version: str = "1", licence: str = ""
) -> Network:
    """`version` is part of the identity: change it whenever `forward` does another thing."""
    if not isinstance(module, nn.Module):
        raise BadInput(f"{name} must be a torch.nn.Module, not {type(module).__name__}.")
    around = module if isinstance(module, PictureModule) else OwnModule(module)
    return Network(name, around, preprocessing, title=f"{name} version {version}", licence=licence)
