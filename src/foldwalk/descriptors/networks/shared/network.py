"""A torch model of pictures that describes and can be trained."""

from __future__ import annotations

from typing import Any

import torch
from PIL import Image
from torch import Tensor, nn

from foldwalk.core.errors import BadInput, one_line
from foldwalk.descriptors.networks.kind import AnyNetwork
from foldwalk.descriptors.networks.preprocessing import Bytes, Preprocessing
from foldwalk.descriptors.networks.shared.picture_module import PictureModule
from foldwalk.descriptors.networks.shared.pixels import Pixels
from foldwalk.descriptors.networks.shared.pooling import Pooling
from foldwalk.descriptors.networks.shared.weights import weights_hash
from foldwalk.descriptors.networks.shared.words import Words


class Network(AnyNetwork):
    """`module` takes what `pixels` makes of pictures that were brought to size by `prepare`.

    `weights` names them by `title` (the name, where a name stands for one network) and content, `identity`
    the preprocessing, too. `licence` is that of the weights, "" where it is not stated.
    `channels` is the width of the map, `own_dim` that of the model's own vector, 0 where it has none. `words`
    is the side of texts of a model that has one.
    """

    def __init__(
        self,
        name: str,
        module: PictureModule,
        preprocessing: Preprocessing,
        *,
        title: str | None = None,
        licence: str = "",
        words: Words | None = None,
    ) -> None:
        self.name, self.licence, self.words = name, licence, words
        self.module = module.eval()
        self.preprocessing, self.pixels = preprocessing, Pixels(preprocessing)
        self.channels, self.own_dim = _widths(name, module, preprocessing.size)
        self.weights = f"{title or name} {weights_hash(module)}"
        self.identity = (
            f"{self.weights}; {preprocessing.normalised}; {preprocessing.brought} {preprocessing.size}"
        )

    @property
    def blocks(self) -> list[nn.Module]:
        """The parts in order: the stem, the blocks, and what follows the last of them."""
        return self.module.blocks

    @property
    def own_pooling(self) -> str:
        """How its makers take one vector: "cls" where the model has one of its own, else the mean."""
        return "cls" if self.own_dim else "gap"

    def width(self, pooling: str) -> int:
        """How many numbers a picture gets by this pooling."""
        return self.own_dim if pooling == "cls" else self.channels

    def prepare(self, picture: Image.Image) -> Bytes:
        """The picture as bytes of the size the network wants, (height, width, 3)."""
        return self.preprocessing.prepare(picture)

    def freeze(self, keep: str = "last_blocks", count: int = 1, norms: bool = False) -> list[dict[str, Any]]:
        """See `PictureModule.freeze`."""
        return self.module.freeze(keep, count, norms)

    def vectors(self, pictures: Tensor, pooling: str | None = None) -> Tensor:
        """Bytes (n, height, width, 3) to vectors (n, d), not normalised; gradients flow."""
        pooled: Tensor = Pooling(pooling or self.own_pooling)(self.module(self.pixels(pictures)))
        return pooled

    def to(self, device: str | torch.device) -> Network:
        """Move it to a device."""
        self.module.to(device)
        self.pixels.to(device)
        if self.words is not None:
            self.words.model.to(device)
        return self

    def __repr__(self) -> str:
        return f"<{self.identity}>"


def _widths(name: str, module: PictureModule, size: int) -> tuple[int, int]:
    """The width of the map and of the own vector, found by trying."""
    try:
        with torch.inference_mode():
            seen = module(torch.zeros(1, 3, size, size))
    except Exception as error:  # a module of one's own, or odd settings, may fail in any way
        raise BadInput(f"{name} fails on a picture of {size} x {size}: {one_line(error)}.") from None
    if seen.map.ndim != 4 or len(seen.map) != 1:
        raise BadInput(f"{name} gives no map (n, channels, h, w) but {tuple(seen.map.shape)}.")
    return int(seen.map.shape[1]), 0 if seen.cls is None else int(seen.cls.shape[1])
