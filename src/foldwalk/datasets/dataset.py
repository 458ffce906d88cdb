"""A data set that was loaded: vectors or pictures, and the protocol to measure a ranking by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from PIL import Image

from foldwalk.core.errors import BadInput
from foldwalk.core.types import AnyArray, Float32Array, Float64Array
from foldwalk.descriptors.decode import formats
from foldwalk.evaluate import Protocol

Metric = Literal["cosine", "euclidean"]
LoadedKind = Literal["features", "pixels", "pictures"]
GreyPictures = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Dataset:
    """What to search in, what to search for, and what counts as found.

    gallery (n, d) and queries (q, d) are float32 as published, not normalised; both are None when the kind is
    "pictures". A set without queries of its own (queries and query_paths None) is measured leave-one-out.
    Pictures are files (gallery_paths, query_paths), or an array (`pixels`: n, h, w), or not there (None).
    `labels` are the classes of the gallery where the set has classes; `query_boxes` (q, 4: left, upper,
    right, lower) the part of each query's picture that is the query, where the protocol names one.
    """

    name: str
    kind: LoadedKind
    gallery: Float32Array | None
    queries: Float32Array | None
    protocol: Protocol
    metric: Metric = "cosine"
    gallery_paths: Sequence[Path] | None = None
    query_paths: Sequence[Path] | None = None
    pixels: GreyPictures | None = None
    labels: AnyArray | None = None
    query_boxes: Float64Array | None = None

    def picture(self, i: int) -> Image.Image | None:
        """The picture of gallery item i, or None where there is none."""
        if self.pixels is not None:
            return Image.fromarray(self.pixels[i])
        return open_picture(self.gallery_paths[i]) if self.gallery_paths is not None else None

    def query_picture(self, q: int) -> Image.Image | None:
        """The picture of query q, cut to its box where it has one, or None where there is none."""
        if self.query_paths is not None:
            picture = open_picture(self.query_paths[q])
            if picture is None or self.query_boxes is None:
                return picture
            left, upper, right, lower = (round(float(side)) for side in self.query_boxes[q])
            return picture.crop((left, upper, right, lower))
        return self.picture(q) if self.queries is None else None


def open_picture(path: Path) -> Image.Image | None:
    """The decoded picture of a file, or None where the file is not there."""
    if not path.is_file():
        return None
    try:
        with Image.open(path, formats=formats()) as picture:
            picture.load()
            return picture
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise BadInput(f"{path} cannot be decoded as a picture: {error}.") from None
