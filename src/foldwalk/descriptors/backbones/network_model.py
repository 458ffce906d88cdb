"""Every kind of network as a backbone, by its name (`hf:`, `torchvision:`, `timm:`, `open_clip:`) or made.

A pooling may stand behind the name, as in `hf:facebook/dinov2-small:gem`, so that an index can note it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from PIL import Image

from foldwalk.core.errors import BadInput, BadParameter, one_line
from foldwalk.core.types import Float32Array
from foldwalk.descriptors import networks
from foldwalk.descriptors import pooling as pool
from foldwalk.descriptors.backbones import register
from foldwalk.descriptors.backbones.base import need
from foldwalk.descriptors.backbones.options import check_box
from foldwalk.descriptors.backbones.spatial import POOLINGS, Bytes, SpatialBackbone
from foldwalk.descriptors.networks.kind import AnyNetwork, Kind
from foldwalk.descriptors.whitening import Whitening

if TYPE_CHECKING:
    from foldwalk.descriptors.networks.shared.network import Network

AT_ONCE_ON_A_CARD = 32


class NetworkBackbone(SpatialBackbone):
    """A network with a pooling; without one it is the network's own: its own vector, or the mean.

    `device` is auto, cpu, cuda or mps. Size and fit are those of the network, unless they are given.
    """

    # The own vector comes as a map of one place.
    poolings: ClassVar = {**POOLINGS, "cls": pool.gap}

    def __init__(
        self,
        named: Network | str,
        named_pooling: str | None = None,
        *,
        size: int | tuple[int, int] | None = None,
        fit: str | None = None,
        pooling: str | None = None,
        scales: Sequence[float] = (1.0,),
        whitening: Whitening | None = None,
        device: str = "auto",
    ) -> None:
        network = networks.load(named) if isinstance(named, str) else named
        from foldwalk.descriptors.networks.shared.devices import device_of

        chosen = pooling or named_pooling
        how = network.preprocessing.changed(fit=fit)
        super().__init__(how.fit, chosen or network.own_pooling, scales, whitening)
        if self.pooling == "cls" and not network.own_dim:
            raise BadParameter(f"{network.name} has no vector of its own: choose {', '.join(POOLINGS)}.")
        self.device = device_of(device)
        self.network, self._how = network.to(self.device), how
        self.at_once = self.at_once if self.device.type == "cpu" else AT_ONCE_ON_A_CARD
        self.box = check_box("size", how.size if size is None else size)
        self.has_map = self.pooling != "cls"
        width = network.width(self.pooling)
        self.dim = width if whitening is None else whitening.output_dim(width)
        self.short_side = 2 * round(max(self.box) * max(self.scales))
        self.knows_words = network.words is not None and self.pooling == "cls"
        lasting = self.lasting(network.name)
        self.name = f"{lasting}:{chosen}" if chosen else lasting
        self.identity = f"{network.weights}; {how.normalised}; {how.brought}; {self.settings}"

    def prepare(self, picture: Image.Image) -> list[Bytes]:
        return [self._how.prepare_in(picture, box) for box in self.boxes]

    def embed_text(self, texts: Sequence[str]) -> Float32Array:
        if self.network.words is None:
            return super().embed_text(texts)
        if not self.knows_words:
            raise BadInput(f"{self.name} knows words only with the pooling cls, its own vector.")
        torch = need("torch", "hub", "Searching by text")
        with torch.inference_mode():
            vectors = self.network.words.encode(texts).float().cpu().numpy()
        return vectors if self.whitening is None else self.whitening.transform(vectors)

    def _run(self, pictures: Bytes) -> Float32Array:
        torch = need("torch", "hub", f"The backbone {self.name}")
        try:
            with torch.inference_mode():
                pixels = self.network.pixels(torch.from_numpy(pictures).to(self.device))
                seen = self.network.module(pixels)
        except Exception as error:  # some networks take one size only, and each says so in its own way
            size = f"{pictures.shape[2]} x {pictures.shape[1]}"
            raise BadInput(f"{self.name} fails on a picture of {size}: {one_line(error)}.") from None
        found = seen.map if self.has_map else seen.cls[:, :, None, None]
        return np.asarray(found.float().cpu().numpy(), dtype=np.float32)


@register
class MadeNetwork(NetworkBackbone):
    """A network that is made already, as `networks.from_module` gives it."""

    name = "network"
    summary = "a torch module of one's own, as `networks.from_module` makes it a network"
    named = "a network (Python)"
    example = "backbone(network)"
    extra = "learn"

    @classmethod
    def claim(cls, model: object) -> tuple[Any, ...] | None:
        return (model,) if isinstance(model, AnyNetwork) else None


class NamedNetwork(NetworkBackbone):
    """A network that is loaded by its name; a class of this kind is made for each kind of network."""

    kind: ClassVar[type[Kind]]

    @classmethod
    def claim(cls, model: object) -> tuple[Any, ...] | None:
        if not isinstance(model, str):
            return None
        name, pooling = _split(model)
        return None if cls.kind.claim(name) is None else (name, pooling)

    @classmethod
    def lasting(cls, model: object) -> str:
        name, pooling = _split(str(model))
        noted = f"{cls.kind.name}:{cls.kind.lasting(cls.kind.claim(name) or '')}"
        return noted if pooling is None else f"{noted}:{pooling}"


def _split(model: str) -> tuple[str, str | None]:
    """A name, and the pooling that may stand behind it."""
    name, _, pooling = model.rpartition(":")
    return (name, pooling) if ":" in name and pooling in NetworkBackbone.poolings else (model, None)


def register_kinds() -> None:
    """A backbone for each kind of network; effnet_lite0 has one of its own, which needs no torch."""
    for kind in networks.kinds().values():
        if kind.name != "effnet_lite0":
            members = {
                "kind": kind,
                "__module__": kind.__module__,
                **{each: getattr(kind, each) for each in ("name", "summary", "named", "example", "extra")},
                "remark": kind.remark,
            }
            register(type(f"{kind.__name__}Backbone", (NamedNetwork,), members))


register_kinds()
