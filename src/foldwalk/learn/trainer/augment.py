"""Pictures changed at random while they are trained on: cut, turned, mirrored, coloured."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageEnhance, ImageOps
from pydantic import Field

from foldwalk.descriptors.networks.preprocessing import Bytes, Preprocessing
from foldwalk.learn.sections import Section

LEAST = 0.4  # share of a picture's area that a random cut keeps
COLOURS = (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color)


class Augment(Section):
    """The section [augment]: what is done to pictures that are read anew in every epoch."""

    cut: float = Field(
        LEAST,
        gt=0,
        le=1,
        description="least share of the area that a random cut keeps; 1: no cuts",
    )
    mirror: bool = Field(True, description="mirror every second picture")
    rotation: float = Field(0.0, ge=0, le=180, description="most degrees by which a picture is turned")
    jitter: float = Field(
        0.0, ge=0, le=1, description="most that brightness, contrast and colours are changed by, of 1"
    )


def augmented(picture: Image.Image, how: Augment, size: Preprocessing, rng: np.random.Generator) -> Bytes:
    """The picture changed at random and brought to size, (height, width, 3)."""
    if how.rotation:
        grey = tuple(round(min(255.0, max(0.0, value))) for value in size.mean)
        angle = float(rng.uniform(-how.rotation, how.rotation))
        picture = picture.rotate(angle, Image.Resampling.BILINEAR, fillcolor=grey)
    if how.cut < 1:
        picture, size = random_part(picture, rng, how.cut), size.changed(fit="squash")
    if how.mirror and rng.random() < 0.5:
        picture = ImageOps.mirror(picture)
    if how.jitter:
        for change in COLOURS:
            picture = change(picture).enhance(float(rng.uniform(1 - how.jitter, 1 + how.jitter)))
    return size.prepare(picture)


def random_part(picture: Image.Image, rng: np.random.Generator, least: float = LEAST) -> Image.Image:
    """At least that share of the picture, up to a third wider or higher than its shape."""
    share, stretch = rng.uniform(least, 1.0), np.exp(rng.uniform(-1, 1) * np.log(4 / 3))
    width = min(1.0, float(np.sqrt(share * stretch)))
    height = min(1.0, float(np.sqrt(share / stretch)))
    left, top = rng.uniform(0, 1 - width), rng.uniform(0, 1 - height)
    corners = left * picture.width, top * picture.height
    opposite = (left + width) * picture.width, (top + height) * picture.height
    (x0, y0), (x1, y1) = map(round, corners), map(round, opposite)
    return picture.crop((x0, y0, max(x1, x0 + 1), max(y1, y0 + 1)))
