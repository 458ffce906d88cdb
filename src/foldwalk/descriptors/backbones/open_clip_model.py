"""The picture's side of any CLIP model of open_clip, `open_clip:NAME/WEIGHTS`, with its own preprocessing."""

from __future__ import annotations

from foldwalk.core.errors import BadParameter
from foldwalk.descriptors.backbones import register
from foldwalk.descriptors.backbones.base import need
from foldwalk.descriptors.backbones.torch_model import TorchBackbone, loaded


@register
class OpenClipBackbone(TorchBackbone):
    """The vector that CLIP compares with texts, for instance `open_clip:ViT-B-32/laion2b_s34b_b79k`."""

    name = "open_clip"
    summary = "the picture's side of any CLIP model of open_clip"
    named = "open_clip:NAME/WEIGHTS"
    example = "open_clip:ViT-B-32/laion2b_s34b_b79k"

    def __init__(self, model_name: str) -> None:
        name = f"open_clip:{model_name}"
        open_clip = need("open_clip", "vision", f"The backbone {name}")
        architecture, _, weights = model_name.partition("/")
        if not weights:
            known = loaded(name, lambda: open_clip.list_pretrained_tags_by_model(architecture))
            raise BadParameter(
                f"{name} must name its weights, as in {name}/{known[-1] if known else 'WEIGHTS'}."
            )
        model, _, transform = loaded(
            name, lambda: open_clip.create_model_and_transforms(architecture, pretrained=weights)
        )
        super().__init__(name, model, transform, model.encode_image)
