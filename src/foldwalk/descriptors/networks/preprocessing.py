"""How a network wants its pictures, in plain numbers that can be kept, compared and exported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from PIL import Image

from foldwalk.core.errors import BadParameter
from foldwalk.descriptors.backbones.options import LARGEST_SIDE, check_choice
from foldwalk.descriptors.backbones.resize import FITS, MARGIN, fitted

Bytes = npt.NDArray[np.uint8]
Three = tuple[float, float, float]
INTERPOLATIONS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
    "box": Image.Resampling.BOX,
    "hamming": Image.Resampling.HAMMING,
}
IMAGENET_MEAN: Three = (123.675, 116.28, 103.53)
IMAGENET_STD: Three = (58.395, 57.12, 57.375)


@dataclass(frozen=True)
class Preprocessing:
    """A square of `size` pixels by `fit`; then (pixels - mean) / std, in pixels of 0 to 255.

    With the fit "crop" the shorter side is brought to `margin` times `size` before the middle is cut out.
    """

    size: int = 224
    fit: str = "crop"
    margin: float = MARGIN
    mean: Three = IMAGENET_MEAN
    std: Three = IMAGENET_STD
    interpolation: str = "bicubic"

    def __post_init__(self) -> None:
        if type(self.size) is not int or not 1 <= self.size <= LARGEST_SIDE:
            raise BadParameter(f"size must be a side from 1 to {LARGEST_SIDE}, but it is {self.size!r}.")
        check_choice("fit", self.fit, FITS)
        check_choice("interpolation", self.interpolation, INTERPOLATIONS)
        if not _is_number(self.margin) or not 1 <= self.margin <= 4:
            raise BadParameter(f"margin must be from 1 to 4, but it is {self.margin!r}.")
        for option in ("mean", "std"):
            object.__setattr__(self, option, _three(option, getattr(self, option)))
        if not all(self.std):
            raise BadParameter(f"std must not be 0, but it is {self.std!r}.")

    def prepare(self, picture: Image.Image) -> Bytes:
        """The picture as (height, width, 3) bytes."""
        return self.prepare_in(picture, (self.size, self.size))

    def prepare_in(self, picture: Image.Image, box: tuple[int, int]) -> Bytes:
        """The same in a box of (width, height)."""
        how = INTERPOLATIONS[self.interpolation]
        return np.asarray(fitted(picture.convert("RGB"), box, self.fit, self.margin, how))

    def changed(self, **settings: Any) -> Self:
        """The same with other settings; those that are None stay."""
        return replace(self, **{name: value for name, value in settings.items() if value is not None})

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `Preprocessing.from_dict` reads it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> Self:
        """From what `as_dict` gave; unknown names and wrong values are refused."""
        unknown = set(said) - set(cls.__dataclass_fields__)
        if unknown:
            raise BadParameter(f"a preprocessing has no {', '.join(sorted(map(str, unknown)))}.")
        return cls(**said)

    @property
    def normalised(self) -> str:
        """The part of an identity that says what is done to the numbers."""
        return f"normalised {','.join(f'{c:g}' for c in (*self.mean, *self.std))}"

    @property
    def brought(self) -> str:
        """The part of an identity that says what is done to the shape."""
        margin = f" {self.margin:.4g}" if self.fit == "crop" else ""
        return f"{self.fit}{margin} {self.interpolation}"


def in_bytes(values: Any, scale: float = 1 / 255) -> Three:
    """Mean or std of pixels that were multiplied by `scale`, of those of 0 to 255."""
    red, green, blue = (value / scale for value in _three("mean and std", values))
    return red, green, blue


def _three(option: str, values: Any) -> Three:
    found = tuple(values) if isinstance(values, (tuple, list)) else (values,) * 3
    if len(found) != 3 or not all(_is_number(value) for value in found):
        raise BadParameter(f"{option} must be a number or three, but it is {values!r}.")
    red, green, blue = map(float, found)
    return red, green, blue


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and bool(np.isfinite(value))
