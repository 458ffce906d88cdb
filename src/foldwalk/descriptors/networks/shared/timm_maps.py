"""The maps of timm's models, and the vectors they pool by themselves."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from foldwalk.descriptors.networks.shared.picture_module import PictureModule, Seen
from foldwalk.descriptors.networks.shared.tokens import on_map


class TimmMaps(PictureModule):
    """Around a model that was made without its classifier, `num_classes=0`."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixels: Tensor) -> Seen:
        features = self.model.forward_features(pixels)
        return Seen(self._map(features, pixels), self.model.forward_head(features, pre_logits=True))

    def _map(self, features: Tensor, pixels: Tensor) -> Tensor:
        if features.ndim == 3:
            return on_map(features, pixels, getattr(self.model.patch_embed, "patch_size", None))[0]
        channels_last = features.shape[1] != self.model.num_features == features.shape[3]
        return features.permute(0, 3, 1, 2) if channels_last else features
