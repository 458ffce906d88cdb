"""Bringing a picture to the size a model wants.

squash   to the box exactly, whatever its shape was: nothing is cut off
crop     as large as 8/7 of the box needs, then the middle of it: shapes are kept, borders are lost
keep     as large as fits into the box: shapes are kept, nothing is cut off, sizes differ
"""

from __future__ import annotations

from PIL import Image

FITS = ("squash", "crop", "keep")
MARGIN = 8 / 7  # 256 / 224, the usual share of a photograph that classifiers are tested on
SHORTEST = 32  # a strip narrower than this would vanish in the strides of a network


def fitted(
    picture: Image.Image,
    box: tuple[int, int],
    fit: str,
    margin: float = MARGIN,
    how: Image.Resampling = Image.Resampling.BICUBIC,
) -> Image.Image:
    """The picture in a box of (width, height); with crop `margin` takes the place of 8/7."""
    if fit == "crop":
        # Only the middle is resized: the whole of a long, thin strip would be enormous.
        factor = min(picture.width / box[0], picture.height / box[1]) / margin
        width, height = box[0] * factor, box[1] * factor
        left, top = (picture.width - width) / 2, (picture.height - height) / 2
        return picture.resize(box, how, box=(left, top, left + width, top + height))
    if fit == "keep":
        factor = min(box[0] / picture.width, box[1] / picture.height)
        box = (max(SHORTEST, round(picture.width * factor)), max(SHORTEST, round(picture.height * factor)))
    return picture.resize(box, how)
