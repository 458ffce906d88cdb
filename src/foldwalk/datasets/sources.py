"""What a loader is made of: where a set lies, how its pictures are listed, how feature files join them.

A loader is a class in `sets/`: the card stands at its top as class attributes, one method below says how the
published files are read. `ClassSource` is for sets with a class per picture, searched leave-one-out
(class_sources.py); `QuerySource` for sets with queries of their own, `WithDistractors` adds pictures that
are never right (query_sources.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from foldwalk.core.errors import BadInput, MissingData
from foldwalk.datasets.dataset import Dataset, Metric
from foldwalk.datasets.features import (
    feature_files,
    feature_layout,
    only_file,
)

Kind = Literal["auto", "features", "pixels", "pictures"]
KINDS: tuple[Kind, ...] = ("auto", "features", "pixels", "pictures")


@dataclass(frozen=True)
class DatasetCard:
    """What a set is, what is looked for below the data folder, where to get it, whether it is there."""

    name: str
    title: str
    what: str
    layout: tuple[str, ...]
    source: str
    reference: str
    present: bool
    found: Path | None


class Source(ABC):
    """A data set that can be loaded by its name."""

    name: str
    title: str
    what: str
    source: str
    reference: str
    metric: Metric = "cosine"

    # Folders below the root (or its "images"), and patterns of which a folder must hold one to be the set.
    folders: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    also_features_of: tuple[str, ...] = ()
    always_there = False

    @abstractmethod
    def load(self, root: Path | None, kind: Kind) -> Dataset: ...

    def with_argument(self, argument: str) -> Source:
        """The set that "name:argument" means."""
        kinds = ", ".join(KINDS)
        raise BadInput(f'"{self.name}:{argument}" is not known; what may follow {self.name} is {kinds}.')

    def layout(self) -> tuple[str, ...]:
        """What is looked for below the root; any one of it is enough unless the set says otherwise."""
        return () if self.always_there else (*self._picture_layout(), *self._feature_layout())

    def found(self, root: Path | None) -> Path | None:
        """Where the set is, or None."""
        return next(iter(self._feature_files(root)), None) or self.folder(root)

    def describe(self, root: Path | None) -> DatasetCard:
        found = self.found(root)
        return DatasetCard(
            self.name,
            self.title,
            self.what,
            self.layout(),
            self.source,
            self.reference,
            present=self.always_there or found is not None,
            found=found,
        )

    def folder(self, root: Path | None) -> Path | None:
        """The folder of the published files."""
        if root is None:
            return None
        places = (root / place for place in self.places())
        return next((p for p in places if any(any(p.glob(pattern)) for pattern in self.holds)), None)

    def feature_file(self, root: Path | None) -> Path | None:
        """The feature file of the set, if there is one."""
        return only_file(self._feature_files(root), self.name)

    def missing(self, root: Path | None, kind: Kind = "auto") -> MissingData:
        """What to say when the set is not there, or not in that kind."""
        if root is None:
            return MissingData(
                f"{self.name} needs a data folder: name one, set FOLDWALK_DATA, or make a folder data here; "
                f"get the set from {self.source}."
            )
        pictures, features = self._picture_layout(), self._feature_layout()
        layouts = {"auto": [*pictures, *features], "features": features}
        looked_for = " or ".join(layouts.get(kind, pictures))
        thing = self.name if kind == "auto" else f"{self.name} as {kind}"
        return MissingData(f"{thing} is not in {root}: looked for {looked_for}; get it from {self.source}.")

    def _picture_layout(self) -> list[str]:
        return [f"{place}/{pattern}" for place in self.places() for pattern in self.holds]

    def _feature_layout(self) -> list[str]:
        return [feature_layout(name) for name in (self.name, *self.also_features_of)]

    def _feature_files(self, root: Path | None) -> list[Path]:
        """The feature files of the first of the names that has any."""
        if root is None:
            return []
        found = (feature_files(root, name) for name in (self.name, *self.also_features_of))
        return next(filter(None, found), [])

    def places(self) -> list[str]:
        return [f"{above}{folder}" for folder in self.folders for above in ("", "images/")]


def need_all(paths: Sequence[Path] | None) -> None:
    lost = next((path for path in paths or () if not path.is_file()), None)
    if lost is not None:
        raise MissingData(f"{lost} is listed, but is not there; unpack the pictures of the set again.")
