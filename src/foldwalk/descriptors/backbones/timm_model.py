"""Any model of timm (pytorch-image-models) by name, `timm:NAME`, with the preprocessing timm keeps for it."""

from __future__ import annotations

from foldwalk.descriptors.backbones import register
from foldwalk.descriptors.backbones.base import need
from foldwalk.descriptors.backbones.torch_model import TorchBackbone, loaded


@register
class TimmBackbone(TorchBackbone):
    """The pooled features before the classifier."""

    name = "timm"
    summary = "any model of timm (pytorch-image-models)"
    named = "timm:NAME"
    example = "timm:resnet18"

    def __init__(self, model_name: str) -> None:
        name = f"timm:{model_name}"
        timm = need("timm", "vision", f"The backbone {name}")
        model = loaded(name, lambda: timm.create_model(model_name, pretrained=True, num_classes=0))
        settings = timm.data.resolve_model_data_config(model)
        super().__init__(name, model, timm.data.create_transform(**settings, is_training=False), model)
