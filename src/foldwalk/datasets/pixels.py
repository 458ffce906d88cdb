"""Raw grey pixels as vectors: the plainest descriptor there is."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from PIL import Image

from foldwalk.core.errors import BadInput
from foldwalk.core.progress import task
from foldwalk.core.types import Float32Array


def grey_pixels(pictures: Iterable[Image.Image | None], count: int, size: tuple[int, int]) -> Float32Array:
    """Each picture's grey values 0..255, row by row, after it was brought to `size` (width, height)."""
    width, height = size
    out = np.empty((count, width * height), dtype=np.float32)
    with task("reading pictures", total=count) as advance:
        for row, picture in enumerate(pictures):
            if picture is None:
                raise BadInput(f"picture {row} is gone; load the data set again.")
            grey = picture.convert("L")
            if grey.size != size:
                grey = grey.resize(size, Image.Resampling.BOX)
            out[row] = np.asarray(grey, dtype=np.float32).ravel()
            advance(1)
    return out
