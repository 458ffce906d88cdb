"""Labels that lie around: the folders of the keys, or a field of the metadata, as one code per item."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foldwalk.core.errors import BadInput, UnknownName
from foldwalk.core.types import IntArray
from foldwalk.index.view import View

FOLDERS = "folders"
FEWEST_CLASSES = FEWEST_ITEMS = 2  # of a class


def folder_of(key: str) -> str | None:
    """The folder of a key that reads like a path; None where it is in none."""
    return key.rpartition("/")[0] or None


def has_folders(keys: Sequence[str]) -> bool:
    """Whether two folders or more have two items or more."""
    return _enough([folder_of(key) for key in keys])


def codes_by(view: View, by: str) -> IntArray:
    """The class of each item, by folders or by a field; -1 where an item has none."""
    labels = labels_by(view.keys, view.metadata, by, view.store.place)
    if not _enough(labels):
        raise BadInput(_too_few(labels, by, view.store.place))
    known = {label: code for code, label in enumerate(sorted({label for label in labels if label}))}
    return np.array([known[label] if label else -1 for label in labels], np.int64)


def labels_by(
    keys: Sequence[str], metadata: Sequence[Mapping[str, Any]], by: str, place: str
) -> list[str | None]:
    """The folder of each key, or a field of the metadata as text; None where an item has none."""
    return [folder_of(key) for key in keys] if by == FOLDERS else _values(metadata, by, place)


def _values(metadata: Sequence[Mapping[str, Any]], field: str, place: str) -> list[str | None]:
    """A field as text: numbers and words alike, `true` apart from 1."""
    if not any(field in known for known in metadata):
        fields = sorted({name for known in metadata for name in known})[:10]
        there = f"there are {', '.join(fields)}" if fields else "no item has any metadata"
        raise UnknownName(f"no item of {place} has the field {field!r}; {there}.")
    values = [known.get(field) for known in metadata]
    if any(isinstance(value, (list, dict)) for value in values):
        raise BadInput(f"the field {field!r} holds lists; labels have to be single values.")
    return [None if value in (None, "") else json.dumps(value) for value in values]


def _enough(labels: Sequence[str | None]) -> bool:
    sizes = Counter(label for label in labels if label)
    return sum(size >= FEWEST_ITEMS for size in sizes.values()) >= FEWEST_CLASSES


def _too_few(labels: Sequence[str | None], by: str, place: str) -> str:
    different = {label for label in labels if label}
    what = "folder" if by == FOLDERS else f"value of {by!r}"
    if len(different) == 1:
        return f"every item of {place} that is labelled has the same {what}; labels have to differ."
    labelled = sum(label is not None for label in labels)
    return (
        f"labels are on too few items of {place}: {labelled} of {len(labels)} have a {what}, but two of them "
        f"have to stand on two items each."
    )
