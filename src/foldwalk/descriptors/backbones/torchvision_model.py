"""Any classifier of torchvision by name, `torchvision:NAME`, preprocessed as its default weights want."""

from __future__ import annotations

from typing import Any

from foldwalk.core.errors import BadInput
from foldwalk.descriptors.backbones import register
from foldwalk.descriptors.backbones.base import need
from foldwalk.descriptors.backbones.torch_model import TorchBackbone, loaded

HEADS = ("fc", "classifier", "heads", "head")  # what torchvision's models call their last part


@register
class TorchvisionBackbone(TorchBackbone):
    """What the classifier's last part is fed with."""

    name = "torchvision"
    summary = "any classifier of torchvision, without its head"
    named = "torchvision:NAME"
    example = "torchvision:resnet18"

    def __init__(self, model_name: str) -> None:
        name = f"torchvision:{model_name}"
        models = need("torchvision", "vision", f"The backbone {name}").models
        weights = loaded(name, lambda: models.get_model_weights(model_name).DEFAULT)
        model = loaded(name, lambda: models.get_model(model_name, weights=weights))
        _remove_head(model, name)
        super().__init__(name, model, weights.transforms(), model)


def _remove_head(model: Any, name: str) -> None:
    identity = need("torch", "vision", f"The backbone {name}").nn.Identity
    for head in HEADS:
        if hasattr(model, head):
            setattr(model, head, identity())
            return
    raise BadInput(
        f"{name} is no classifier whose features are known; choose one of torchvision's classifiers."
    )
