"""EfficientNet-lite0 with its ImageNet weights, the network behind the default backbone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldwalk.descriptors.backbones.base import need
from foldwalk.descriptors.networks import register
from foldwalk.descriptors.networks.kind import Kind
from foldwalk.descriptors.networks.preprocessing import Preprocessing

if TYPE_CHECKING:
    from foldwalk.descriptors.networks.shared.network import Network

# As foldwalk's effnet_lite0 has pictures since it exists: brought to a square, (x - 127) / 128.
PREPROCESSING = Preprocessing(size=224, fit="squash", mean=(127.0,) * 3, std=(128.0,) * 3)


@register
class Lite0(Kind):
    name = "effnet_lite0"
    summary = "EfficientNet-lite0 trained on ImageNet"
    named = example = "effnet_lite0"
    extra = "images"
    remark = "The package of the weights states no licence."

    @classmethod
    def claim(cls, model: object) -> str | None:
        return "" if model == cls.name else None

    @classmethod
    def load(cls, name: str, own: str) -> Network:  # noqa: ARG003
        need("torch", cls.extra, f"The network {name}")
        from foldwalk.descriptors.networks.shared import lite0_maps
        from foldwalk.descriptors.networks.shared.network import Network

        return Network(name, lite0_maps.Lite0Maps(lite0_maps.lite0()), PREPROCESSING)
