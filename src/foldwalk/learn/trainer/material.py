"""What people have to train on: pictures or vectors, wherever they came from, with labels where known.

Labels serve two ends: the trainings that need them learn by them, and whole classes that are held out show
what was gained. A training that needs none sees everything that is not held out, labelled or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.seeds import generator
from foldwalk.core.types import Float32Array, IntArray
from foldwalk.descriptors import Skipped

Kind = TypeVar("Kind")
FEWEST = 10  # items to learn from
FEWEST_CLASSES = 2  # on each side of a cut
HOW_TO_LABEL = "sort the pictures into one folder per class, or give --labels FILE.csv or --by FIELD"


def chosen_of(values: Sequence[Kind] | None, rows: IntArray) -> list[Kind] | None:
    """Some of the values, where there are any."""
    return None if values is None else [values[row] for row in rows.tolist()]


@dataclass(frozen=True, eq=False)
class Material:
    """Items by key. `vectors` (n, d) or `paths` of pictures, or both, in the order of the keys.

    `labels` has None for items without one; `metadata` is JSON. `backbone` is what described the pictures,
    None where the vectors are somebody's own. `skipped` are files that could not be read.
    """

    place: str
    keys: Sequence[str]
    vectors: Float32Array | None = None
    paths: Sequence[Path] | None = None
    labels: Sequence[str | None] | None = None
    metadata: Sequence[str] | None = None
    backbone: str | None = None
    skipped: Sequence[Skipped] = ()

    def __len__(self) -> int:
        return len(self.keys)

    def rows(self, rows: IntArray) -> Material:
        """Some of the items, in this order."""
        return replace(
            self,
            keys=[self.keys[row] for row in rows.tolist()],
            vectors=None if self.vectors is None else self.vectors[rows],
            paths=chosen_of(self.paths, rows),
            labels=chosen_of(self.labels, rows),
            metadata=chosen_of(self.metadata, rows),
        )

    def codes(self) -> IntArray:
        """The class of each item; -1 where it has none."""
        if self.labels is None:
            return np.full(len(self), -1)
        known = {label: code for code, label in enumerate(sorted(set(self.labels) - {None, ""}))}  # type: ignore[type-var]
        return np.array([known.get(label, -1) for label in self.labels], np.int64)


def check_material(material: Material, training: str, needs_labels: bool) -> Material:
    """What can be learned from: all items, or those that have a label; refused where they are too few."""
    if needs_labels:
        material = _labelled(material, training)
    if len(material) < FEWEST:
        raise BadInput(
            f"{material.place} holds {len(material)} items to train on; {training} needs at least {FEWEST}."
        )
    return material


def _labelled(material: Material, training: str) -> Material:
    rows = np.flatnonzero(material.codes() >= 0)
    if not len(rows):
        raise BadInput(
            f"{training} learns from labels, but {material.place} has none: {HOW_TO_LABEL}; "
            f"foldwalk train mom needs none."
        )
    sizes = Counter(material.codes()[rows].tolist())
    if len(sizes) < FEWEST_CLASSES:
        raise BadInput(
            f"all labels of {material.place} are the same; {training} needs several classes: {HOW_TO_LABEL}."
        )
    if max(sizes.values()) < 2:
        raise BadInput(
            f"no two items of {material.place} share a label; {training} needs classes of several items."
        )
    return material.rows(rows)


def hold_out(material: Material, share: float, needs_labels: bool) -> tuple[IntArray, IntArray]:
    """Items to train on, and those of whole classes to measure on: `share` of the classes, drawn at random.

    The second is empty where the classes are too few: two have to be on either side. Of classes that are
    measured on, each has two items or more.
    """
    codes, everything = material.codes(), np.arange(len(material))
    sizes = np.bincount(codes[codes >= 0])
    several = np.flatnonzero(sizes >= 2)
    count = min(round(share * len(sizes)), len(several))
    left = len(several) - count if needs_labels else FEWEST_CLASSES
    if share == 0 or count < FEWEST_CLASSES or left < FEWEST_CLASSES:
        return everything, everything[:0]
    chosen = generator(0, "classes to measure on").permutation(several)[:count]
    outside = np.isin(codes, chosen)
    if (~outside).sum() < FEWEST:
        return everything, everything[:0]
    return everything[~outside], everything[outside]
