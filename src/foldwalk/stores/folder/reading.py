"""Rows of the catalogue as values. They may be a stranger's: what they are is looked at before it is used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from foldwalk.core.types import Float32Array, IntArray
from foldwalk.stores.errors import lost
from foldwalk.stores.folder.blocks import ROWS_AT_A_TIME
from foldwalk.stores.metadata import metadata_of
from foldwalk.stores.types import Item

LARGEST_OF_LENGTH_ONE = 1.001
Columns = tuple[IntArray, list[str], IntArray, list[str]]


def columns(found: Sequence[Any], rows: int) -> Columns:
    """Rows of (number, key, row, metadata) as columns; `rows` is how many vectors there are."""
    numbers = np.array([number for number, *_ in found], np.int64)
    keys, texts = [key for _, key, *_ in found], [text for *_, text in found]
    for name, values in (("key", keys), ("metadata", texts)):
        if not all(type(value) is str for value in values):
            raise lost(f"the catalogue has a {name} that is no text")
    return numbers, keys, places((row for _, _, row, _ in found), rows), texts


def places(found: Iterable[Any], rows: int) -> IntArray:
    """Places of vectors among so many."""
    try:
        asked = np.array(list(found), np.int64)
    except (TypeError, ValueError, OverflowError):
        asked = np.array([-1])
    if len(asked) and (asked.min() < 0 or asked.max() >= rows):
        raise lost("an item of the catalogue points behind the last vector")
    return asked


def check_numbers(rows: Float32Array, metric: str) -> Float32Array:
    """Refuse numbers that no vector of this metric has, before anybody computes with them."""
    largest = LARGEST_OF_LENGTH_ONE if metric == "cosine" else np.finfo(np.float32).max
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        part = rows[start : start + ROWS_AT_A_TIME]
        if not (part.min() >= -largest and part.max() <= largest):  # NaN is neither
            raise lost("a stored vector has numbers that none has by its metric")
    return rows


def item(found: Any) -> Item:
    """Of a row of (key, metadata, source, added)."""
    key, metadata, source, added = found
    if type(added) is not str or not (source is None or type(source) is str):
        raise lost(f"what the catalogue has of item {key!r} is no text")
    return Item(key, metadata_of(metadata, key), source, added)


def picture(found: Any) -> bytes | None:
    if found is not None and type(found) is not bytes:
        raise lost("a thumbnail of the catalogue is no picture")
    return found
