"""The pictures that were named, and what came of giving them keys: plain values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foldwalk import descriptors
from foldwalk.core.errors import BadInput, MissingData
from foldwalk.index.files.roots import Root
from foldwalk.index.types import Skipped

PathLike = str | os.PathLike[str]
Metadata = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Found:
    """Pictures that were named: one `alone`, a list, or a folder's. Keys are paths below `root`, if any."""

    paths: list[Path]
    folder: Path | None = None
    root: Path | None = None
    alone: bool = False


def find(paths_or_folder: PathLike | Iterable[PathLike], root: PathLike | None = None) -> Found:
    below = None if root is None else Path(root)
    if not isinstance(paths_or_folder, (str, os.PathLike)):
        return Found([Path(path) for path in paths_or_folder], None, below)
    place = Path(paths_or_folder)
    if place.is_file():
        return Found([place], None, below, alone=True)
    if not place.is_dir():
        raise MissingData(f"{place} does not exist.")
    found = descriptors.find_pictures(place)
    if not found:
        raise BadInput(f"{place} holds no pictures.")
    return Found(found, place, below)


@dataclass(frozen=True)
class Named:
    """A picture to look at, its key, the path that is noted, and what the caller would call it."""

    path: Path
    key: str
    source: str
    called: str


@dataclass
class Names:
    """The pictures with their keys, and those that have none.

    `folders` are those that were named, as they are noted; `new` are those that were not known before.
    """

    files: list[Named] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    new: list[Root] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def metadata(self, given: Metadata | None) -> Metadata | None:
        """By key, also where it was given by the path below the folder that was named."""
        if not isinstance(given, Mapping):
            return given
        keys, called = {file.key for file in self.files}, {file.called: file.key for file in self.files}
        by_key = {name if name in keys else called.get(name, name): value for name, value in given.items()}
        if len(by_key) < len(given):
            raise BadInput("metadata names a picture twice, by its key and by its path.")
        return by_key
