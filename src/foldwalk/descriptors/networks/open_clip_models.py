"""Any CLIP model of open_clip, `open_clip:NAME/WEIGHTS`, which knows words, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from foldwalk.core.errors import BadParameter
from foldwalk.descriptors.backbones.base import need
from foldwalk.descriptors.backbones.resize import MARGIN
from foldwalk.descriptors.networks import register
from foldwalk.descriptors.networks.kind import Kind
from foldwalk.descriptors.networks.preprocessing import Preprocessing, in_bytes

if TYPE_CHECKING:
    from foldwalk.descriptors.networks.shared.network import Network


@register
class OpenClip(Kind):
    name = "open_clip"
    summary = "any CLIP model of open_clip, for pictures and texts"
    named = "open_clip:NAME/WEIGHTS"
    example = "open_clip:ViT-B-32/laion2b_s34b_b79k"
    extra = "vision"
    remark = "The licence of the weights stands on the model's page."

    @classmethod
    def load(cls, name: str, own: str) -> Network:
        open_clip = need("open_clip", cls.extra, f"The network {name}")
        need("torch", cls.extra, f"The network {name}")
        from foldwalk.descriptors.networks.shared.library_loading import loaded
        from foldwalk.descriptors.networks.shared.network import Network
        from foldwalk.descriptors.networks.shared.open_clip_maps import OpenClipMaps, OpenClipWords

        architecture, _, weights = own.partition("/")
        if not weights:
            known = loaded(name, lambda: open_clip.list_pretrained_tags_by_model(architecture))
            raise BadParameter(
                f"{name} must name its weights, as in {name}/{known[-1] if known else 'WEIGHTS'}."
            )
        model = loaded(
            name,
            lambda: open_clip.create_model(architecture, pretrained=weights, load_weights_only=True).eval(),
        )
        how = loaded(name, lambda: _preprocessing(open_clip.get_model_preprocess_cfg(model)))
        words = OpenClipWords(model, lambda: open_clip.get_tokenizer(architecture), name)
        return Network(name, OpenClipMaps(model), how, words=words)


def _preprocessing(said: Mapping[str, Any]) -> Preprocessing:
    size = said["size"]
    squash = said.get("resize_mode") == "squash"
    return Preprocessing(
        size=size if isinstance(size, int) else int(size[0]),
        fit="squash" if squash else "crop",
        margin=MARGIN if squash else 1.0,
        mean=in_bytes(said["mean"]),
        std=in_bytes(said["std"]),
        interpolation=said.get("interpolation", "bicubic"),
    )
