"""Raw grey pixels, 0 to 255, row by row: for faces, digits and other pictures that are taken alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image

from foldwalk.core.types import Float32Array
from foldwalk.descriptors.backbones import register
from foldwalk.descriptors.backbones.base import Backbone
from foldwalk.descriptors.backbones.options import check_box


@register
class Pixels(Backbone):
    """Each picture's grey values after it was brought to `size` (width, height), each new pixel a mean."""

    name = "pixels"
    summary = "raw grey pixels, for pictures that are taken alike"
    named = example = "pixels"
    dimensions = "width times height of `size`, 1,024 by default"

    def __init__(self, *, size: int | tuple[int, int] = 32) -> None:
        self.size = width, height = check_box("size", size)
        self.dim = width * height
        self.identity = f"pixels grey {width}x{height}"
        self.short_side = max(256, 4 * width, 4 * height)  # more than enough for a mean, and for a thumbnail

    def prepare(self, picture: Image.Image) -> Float32Array:
        grey = picture.convert("L")
        if grey.size != self.size:
            grey = grey.resize(self.size, Image.Resampling.BOX)
        return np.asarray(grey, dtype=np.float32).ravel()

    def embed_prepared(self, prepared: Sequence[Float32Array]) -> Float32Array:
        return np.stack(prepared) if prepared else np.zeros((0, self.dim), dtype=np.float32)
