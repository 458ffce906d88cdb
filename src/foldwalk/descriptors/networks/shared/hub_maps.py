"""The maps of an image model of transformers: of its own, or its tokens put back where they were taken."""

from __future__ import annotations

import inspect
from typing import Any

from torch import Tensor, nn

from foldwalk.core.errors import BadInput
from foldwalk.descriptors.networks.shared.picture_module import PictureModule, Seen
from foldwalk.descriptors.networks.shared.tokens import on_map, pair


class HubMaps(PictureModule):
    """Around the model, or the picture's side of a model of pictures and texts.

    The own vector is the class token of a transformer after its last norm, the vector that a model of
    pictures and texts compares, and of a convolutional network what it pools by itself.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = getattr(model, "vision_model", model)
        self.projection = getattr(model, "visual_projection", None)
        if _is_dense(getattr(self.model, "pooler", None)):
            self.model.pooler = None  # classifiers are saved without it: it would be random
        if "pixel_values" not in inspect.signature(self.model.forward).parameters:
            raise BadInput(f"{type(model).__name__} is no model of pictures.")
        settings = self.model.config
        self.patch, self.side = getattr(settings, "patch_size", None), getattr(settings, "image_size", None)
        self.stretches = "interpolate_pos_encoding" in inspect.signature(self.model.forward).parameters

    def forward(self, pixels: Tensor) -> Seen:
        height, width = int(pixels.shape[2]), int(pixels.shape[3])
        options: dict[str, Any] = {}
        if self.stretches and (height, width) != pair(self.side):
            options["interpolate_pos_encoding"] = True
        found = self.model(pixel_values=pixels, return_dict=True, **options)
        last, pooled = found.last_hidden_state, getattr(found, "pooler_output", None)
        if last.ndim == 4:
            return Seen(last, None if pooled is None else pooled.flatten(1))
        maps, before = on_map(last, pixels, self.patch)
        return Seen(maps, self._own(last, pooled, before))

    def _own(self, last: Tensor, pooled: Tensor | None, before: int) -> Tensor | None:
        if pooled is None:
            return last[:, 0] if before else None
        return pooled if self.projection is None else self.projection(pooled)


def _is_dense(part: Any) -> bool:
    return isinstance(part, nn.Module) and any(isinstance(inner, nn.Linear) for inner in part.modules())
