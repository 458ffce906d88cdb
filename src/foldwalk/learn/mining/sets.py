"""Rows of ids as sets: differences that keep the order."""

from __future__ import annotations

import numpy as np

from foldwalk.core.types import BoolArray, Float32Array, Int32Array


def members(ids: Int32Array, of: Int32Array, items: int) -> BoolArray:
    """Where an id of row r of `ids` stands in row r of `of`; ids of -1 stand nowhere."""
    row = np.arange(len(ids), dtype=np.int64)[:, None] * items
    return np.isin(ids + row, (of + row)[of >= 0]) & (ids >= 0)


def difference(
    ids: Int32Array, similarities: Float32Array, without: Int32Array, items: int, keep: int
) -> tuple[Int32Array, Float32Array]:
    """The first `keep` ids of each row that are not in the same row of `without`, in their order."""
    wanted = (ids >= 0) & ~members(ids, without, items)
    place = np.cumsum(wanted, axis=1) - 1
    wanted &= place < keep
    width = min(keep, int(wanted.sum(axis=1).max(initial=0)))
    rows = np.nonzero(wanted)[0]
    left, values = np.full((len(ids), width), -1, np.int32), np.zeros((len(ids), width), np.float32)
    left[rows, place[wanted]] = ids[wanted]
    values[rows, place[wanted]] = similarities[wanted]
    return left, values
