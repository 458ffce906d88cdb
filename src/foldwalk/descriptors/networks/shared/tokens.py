"""Tokens of a transformer put back on the map they were taken from."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from foldwalk.core.errors import BadInput


def on_map(tokens: Tensor, pixels: Tensor, patch: Any) -> tuple[Tensor, int]:
    """(n, tokens, channels) as (n, channels, rows, columns), and how many tokens stand before the map.

    `patch` is the side of a token in pixels, or (height, width).
    """
    count = int(tokens.shape[1])
    rows, columns = _grid(int(pixels.shape[2]), int(pixels.shape[3]), count, patch)
    before = count - rows * columns
    channels = int(tokens.shape[2])  # the number of pictures is left open, for models that are exported
    return tokens[:, before:].transpose(1, 2).reshape(-1, channels, rows, columns), before


def _grid(height: int, width: int, count: int, patch: Any) -> tuple[int, int]:
    """Rows and columns of the tokens; models that merge them have a half of it at each stage."""
    if patch is None:
        raise BadInput("its tokens cannot be put on a map, for it does not say how large they are")
    down, right = pair(patch)
    rows, columns = height // down, width // right
    while rows * columns > count:
        rows, columns = -(-rows // 2), -(-columns // 2)
    return rows, columns


def pair(size: Any) -> tuple[int, int]:
    """One side, or (height, width)."""
    first, second = size if isinstance(size, (tuple, list)) else (size, size)
    return first, second
