"""Any model of timm (pytorch-image-models) by name, `timm:NAME`, prepared for by the settings timm keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from foldwalk.descriptors.backbones.base import need
from foldwalk.descriptors.networks import register
from foldwalk.descriptors.networks.kind import Kind
from foldwalk.descriptors.networks.preprocessing import Preprocessing, in_bytes

if TYPE_CHECKING:
    from foldwalk.descriptors.networks.shared.network import Network


@register
class Timm(Kind):
    name = "timm"
    summary = "any model of timm (pytorch-image-models)"
    named = "timm:NAME"
    example = "timm:resnet18"
    extra = "vision"
    remark = "The licence of the weights stands on the model's page."

    @classmethod
    def load(cls, name: str, own: str) -> Network:
        timm = need("timm", cls.extra, f"The network {name}")
        need("torch", cls.extra, f"The network {name}")
        from foldwalk.descriptors.networks.shared.library_loading import loaded
        from foldwalk.descriptors.networks.shared.network import Network
        from foldwalk.descriptors.networks.shared.timm_maps import TimmMaps

        model = loaded(name, lambda: timm.create_model(own, pretrained=True, num_classes=0))
        how = loaded(name, lambda: _preprocessing(timm.data.resolve_model_data_config(model)))
        licence = (getattr(model, "pretrained_cfg", None) or {}).get("license") or ""
        return Network(name, TimmMaps(model), how, licence=str(licence))


def _preprocessing(settings: Mapping[str, Any]) -> Preprocessing:
    squash = settings.get("crop_mode") == "squash"
    return Preprocessing(
        size=int(settings["input_size"][-1]),
        fit="squash" if squash else "crop",
        margin=max(1.0, 1 / settings["crop_pct"]),
        mean=in_bytes(settings["mean"]),
        std=in_bytes(settings["std"]),
        interpolation=str(settings["interpolation"]),
    )
