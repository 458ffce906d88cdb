"""What the image processors of transformers save, as a `Preprocessing` of our own.

Read here, and not by transformers, most of whose processors need torchvision. The middle is cut out at
fractions of a pixel, where they round. Where they leave a picture's shape, the middle square is taken: all
pictures of a batch have one size. `size` as a bare number is what older versions wrote for a square.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldwalk.core.errors import BadInput, BadParameter
from foldwalk.descriptors.backbones.resize import MARGIN
from foldwalk.descriptors.networks.preprocessing import INTERPOLATIONS, Preprocessing, in_bytes

CONVNEXT_WARPS = 384  # from this size on ConvNeXt's processor brings the whole picture to a square
BY_NUMBER = {int(how): name for name, how in INTERPOLATIONS.items()}


def from_processor(said: Mapping[str, Any], name: str) -> Preprocessing:
    """`said` is what stands in preprocessor_config.json."""
    try:
        size, fit, margin = _shape(said)
        scale = float(said.get("rescale_factor", 1 / 255)) if said.get("do_rescale", True) else 1.0
        mean, std = (said["image_mean"], said["image_std"]) if said.get("do_normalize", True) else (0, 1)
        return Preprocessing(
            size=size,
            fit=fit,
            margin=margin,
            mean=in_bytes(mean, scale),
            std=in_bytes(std, scale),
            interpolation=BY_NUMBER[said.get("resample", 3)],
        )
    except BadParameter as error:
        raise BadInput(f"the image processor of {name} cannot be used: {error}") from None
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise BadInput(
            f"the image processor of {name} cannot be used: its settings have no usable {error}."
        ) from None


def _shape(said: Mapping[str, Any]) -> tuple[int, str, float]:
    """Side, fit and margin."""
    if not said.get("do_resize", True):
        raise ValueError("size, for pictures are not resized")
    size = said["size"]
    cut = _side(said["crop_size"]) if said.get("do_center_crop") else None
    if cut is None and "crop_pct" in said:  # ConvNeXt's processor
        short = size if isinstance(size, int) else int(size["shortest_edge"])
        return (short, "squash", MARGIN) if short >= CONVNEXT_WARPS else (short, "crop", 1 / said["crop_pct"])
    if isinstance(size, dict) and "shortest_edge" in size:
        short = int(size["shortest_edge"])
        return (short, "crop", 1.0) if cut is None else (cut, "crop", max(1.0, short / cut))
    side = _side(size)
    if cut is None or cut == side:
        return side, "squash", MARGIN
    return cut, "crop", max(1.0, side / cut)


def _side(size: Any) -> int:
    if isinstance(size, int):
        return size
    if size["height"] != size["width"]:
        raise ValueError("size, for it is no square")
    return int(size["height"])
