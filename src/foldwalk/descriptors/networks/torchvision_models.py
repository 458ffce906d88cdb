"""Any classifier of torchvision by name, `torchvision:NAME`, prepared for as its default weights want."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foldwalk.descriptors.backbones.base import need
from foldwalk.descriptors.networks import register
from foldwalk.descriptors.networks.kind import Kind
from foldwalk.descriptors.networks.preprocessing import Preprocessing, in_bytes

if TYPE_CHECKING:
    from foldwalk.descriptors.networks.shared.network import Network


@register
class Torchvision(Kind):
    name = "torchvision"
    summary = "any classifier of torchvision, without its head"
    named = "torchvision:NAME"
    example = "torchvision:resnet18"
    extra = "vision"
    remark = "The licence of the weights stands in torchvision's documentation of the model."

    @classmethod
    def load(cls, name: str, own: str) -> Network:
        models = need("torchvision", cls.extra, f"The network {name}").models
        need("torch", cls.extra, f"The network {name}")
        from foldwalk.descriptors.networks.shared.library_loading import loaded
        from foldwalk.descriptors.networks.shared.network import Network
        from foldwalk.descriptors.networks.shared.torchvision_maps import torchvision_maps

        weights = loaded(name, lambda: models.get_model_weights(own).DEFAULT)
        model = loaded(name, lambda: models.get_model(own, weights=weights))
        how = loaded(name, lambda: _preprocessing(weights.transforms()))
        return Network(name, torchvision_maps(model, name), how)


def _preprocessing(transforms: Any) -> Preprocessing:
    """From torchvision's preset for classifiers: the shorter side to resize_size, the middle of crop_size."""
    size = int(transforms.crop_size[0])
    return Preprocessing(
        size=size,
        fit="crop",
        margin=max(1.0, transforms.resize_size[0] / size),
        mean=in_bytes(transforms.mean),
        std=in_bytes(transforms.std),
        interpolation=str(transforms.interpolation.value),
    )
