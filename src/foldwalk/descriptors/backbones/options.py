"""Checks of what a backbone is asked for; each names the option that is wrong."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from foldwalk.core.errors import BadParameter
from foldwalk.descriptors.backbones.base import cores

LARGEST_SIDE = 4096
LARGEST_SCALE = 4


def check_choice(option: str, value: str, choices: Collection[str]) -> str:
    if value not in choices:
        raise BadParameter(f"{option} must be one of {', '.join(choices)}, but it is {value!r}.")
    return value


def check_scales(scales: Sequence[float]) -> tuple[float, ...]:
    try:
        found = tuple(float(scale) for scale in scales)
    except (TypeError, ValueError):
        found = ()
    if not found or not all(0 < scale <= LARGEST_SCALE for scale in found):
        raise BadParameter(f"scales must be numbers above 0 up to {LARGEST_SCALE}, but it is {scales!r}.")
    return found


def check_box(option: str, size: int | tuple[int, int]) -> tuple[int, int]:
    """One side of a square, or (width, height)."""
    box = (size, size) if isinstance(size, int) else tuple(size)
    if len(box) != 2 or not all(type(side) is int and 1 <= side <= LARGEST_SIDE for side in box):
        raise BadParameter(f"{option} must be a side from 1 to {LARGEST_SIDE} or two, but it is {size!r}.")
    return box


def check_threads(threads: int | None) -> int:
    """As many threads as asked for, but no more than there are cores."""
    if threads is None:
        return cores()
    if type(threads) is not int or threads < 1:
        raise BadParameter(f"threads must be a whole number of at least 1, but it is {threads!r}.")
    return min(threads, cores())
