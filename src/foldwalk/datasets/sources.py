"""What a loader is made of: where a set lies, how its pictures are listed, how feature files join them.

A loader is a class in `sets/`: the card stands at its top as class attributes, one method below says how the
published files are read. `ClassSource` is for sets with a class per picture, searched leave-one-out;
`QuerySource` for sets with queries of their own; `WithDistractors` adds pictures that are never right.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from foldwalk.core.errors import BadInput, MissingData
from foldwalk.core.types import AnyArray, Float32Array, Float64Array
from foldwalk.datasets.dataset import Dataset, GreyPictures, Metric
from foldwalk.datasets.features import (
    FeatureFile,
    feature_files,
    match_names,
    name_keys,
    only_file,
    read_features,
)
from foldwalk.datasets.files import picture_names, read_lines, safe_name
from foldwalk.datasets.pixels import grey_pixels
from foldwalk.evaluate import LeaveOneOut, Protocol, QueryGallery

Kind = Literal["auto", "features", "pixels", "pictures"]
KINDS: tuple[Kind, ...] = ("auto", "features", "pixels", "pictures")


@dataclass(frozen=True)
class Card:
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

    def describe(self, root: Path | None) -> Card:
        found = self.found(root)
        return Card(
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
        places = (root / place for place in self._places())
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
        return [f"{place}/{pattern}" for place in self._places() for pattern in self.holds]

    def _feature_layout(self) -> list[str]:
        return [f"features/{name}_*.npz (.npy, .mat)" for name in (self.name, *self.also_features_of)]

    def _feature_files(self, root: Path | None) -> list[Path]:
        """The feature files of the first of the names that has any."""
        if root is None:
            return []
        found = (feature_files(root, name) for name in (self.name, *self.also_features_of))
        return next(filter(None, found), [])

    def _places(self) -> list[str]:
        return [f"{above}{folder}" for folder in self.folders for above in ("", "images/")]


@dataclass(frozen=True, eq=False)
class Pictures:
    """Pictures with a class each: files (names below a folder) or arrays."""

    names: Sequence[str]
    labels: Sequence[str] | AnyArray
    folder: Path | None = None
    arrays: GreyPictures | None = None

    def paths(self) -> list[Path] | None:
        return None if self.folder is None else [self.folder / name for name in self.names]


class ClassSource(Source):
    """A set with a class per picture; every picture is a query for the others of its class."""

    pixel_size: tuple[int, int] | None = None  # width, height; None: raw pixels say nothing about this set

    @abstractmethod
    def pictures(self, folder: Path) -> Pictures:
        """The pictures of the set, and their classes."""

    def protocol(self, labels: Sequence[str] | AnyArray) -> Protocol:
        return LeaveOneOut(labels)

    def load(self, root: Path | None, kind: Kind) -> Dataset:
        if kind in ("auto", "features"):
            file = self.feature_file(root)
            if file is not None:
                return self.load_file(file, root)
        folder = self.folder(root)
        if kind == "features" or folder is None:
            raise self.missing(root, kind)
        return self.from_pictures(self.pictures(folder), kind)

    def from_pictures(self, pictures: Pictures, kind: Kind) -> Dataset:
        if not len(pictures.names):
            raise MissingData(f"{self.name}: {pictures.folder} lists no picture; get it from {self.source}.")
        if kind == "pixels" and self.pixel_size is None:
            raise BadInput(
                f'{self.name} is not used as raw pixels; load "{self.name}:pictures" and describe them.'
            )
        paths = pictures.paths()
        _need_all(paths)
        dataset = Dataset(
            self.name,
            "pictures",
            None,
            None,
            self.protocol(pictures.labels),
            self.metric,
            gallery_paths=paths,
            pixels=pictures.arrays,
            labels=np.asarray(pictures.labels),
        )
        if kind == "pictures" or self.pixel_size is None:
            return dataset
        count = len(pictures.names)
        gallery = grey_pixels((dataset.picture(i) for i in range(count)), count, self.pixel_size)
        return replace(dataset, kind="pixels", gallery=gallery)

    def load_file(self, path: Path, root: Path | None) -> Dataset:
        """A feature file, and the pictures behind it where they are there."""
        file = read_features(path)
        if file.labels is None:
            raise BadInput(f"{path} holds no labels, so nothing can be measured on it; add them as labels.")
        if file.queries is None:
            protocol = self.protocol(file.labels)
        elif file.query_labels is not None:
            protocol = QueryGallery(file.query_labels, file.labels)
        else:
            raise BadInput(f"{path} holds queries, but no query_labels, so nothing can be measured on it.")
        dataset = Dataset(
            self.name, "features", file.x, file.queries, protocol, self.metric, labels=file.labels
        )
        folder, names = self.folder(root), file.names()
        if folder is None or names is None:
            return dataset
        try:
            pictures = self.pictures(folder)
        except MissingData:
            return dataset
        rows = match_names(names, map(name_keys, pictures.names))
        if -1 in rows:
            return dataset
        paths = pictures.paths()
        return replace(
            dataset,
            gallery_paths=None if paths is None else [paths[row] for row in rows],
            pixels=None if pictures.arrays is None else pictures.arrays[rows],
        )


class ClassFolders(ClassSource):
    """Pictures in one folder per class, and feature files made of them; also sets no one registered."""

    holds = ("*/*.png", "*/*.jpg")
    title = "pictures in one folder per class, or a feature file"
    what = "any pictures or vectors of yours"
    source = "your own pictures or vectors"
    reference = "none"

    def __init__(self, name: str | None = None) -> None:
        if name is not None:
            self.name = name
            self.folders = (name,)

    def pictures(self, folder: Path) -> Pictures:
        names = [name for name in picture_names(folder) if "/" in name]
        return Pictures(names, [name.split("/")[-2] for name in names], folder)


@dataclass(frozen=True, eq=False)
class Listing:
    """Names of the gallery and of the queries, and what counts as found.

    `folder` holds the pictures; None when only the ground truth is there.
    """

    gallery: Sequence[str]
    queries: Sequence[str]
    protocol: Protocol
    folder: Path | None
    boxes: Float64Array | None = None
    labels: AnyArray | None = None

    def paths(self) -> tuple[list[Path], list[Path]] | None:
        if self.folder is None:
            return None
        return [self.folder / name for name in self.gallery], [self.folder / name for name in self.queries]


class QuerySource(Source):
    """A set with queries of its own."""

    @abstractmethod
    def listing(self, root: Path | None, file: FeatureFile | None) -> Listing:
        """The ground truth, from the published files; names from the feature file where no others are."""

    def load(self, root: Path | None, kind: Kind) -> Dataset:
        if kind == "pixels":
            raise BadInput(
                f'{self.name} is not used as raw pixels; load "{self.name}:pictures" and describe them.'
            )
        path = self.feature_file(root) if kind in ("auto", "features") else None
        if path is not None:
            return self.load_file(path, root)
        if kind == "features":
            raise self.missing(root, kind)
        listing = self.listing(root, None)
        paths = listing.paths()
        if paths is None:
            raise self.missing(root, kind)
        _need_all([*paths[0], *paths[1]])
        return self._dataset(listing, paths)

    def load_file(self, path: Path, root: Path | None) -> Dataset:
        """A feature file in the order of the ground truth, or one whose paths say what is what."""
        file = read_features(path)
        listing = self.listing(root, file)
        gallery, queries = self._rows(file, listing)
        paths = listing.paths()
        if paths is not None and not all(p.is_file() for part in paths for p in part):
            paths = None
        return replace(self._dataset(listing, paths), kind="features", gallery=gallery, queries=queries)

    def _dataset(self, listing: Listing, paths: tuple[list[Path], list[Path]] | None) -> Dataset:
        return Dataset(
            self.name,
            "pictures",
            None,
            None,
            listing.protocol,
            self.metric,
            gallery_paths=None if paths is None else paths[0],
            query_paths=None if paths is None else paths[1],
            labels=listing.labels,
            query_boxes=listing.boxes,
        )

    def _rows(self, file: FeatureFile, listing: Listing) -> tuple[Float32Array, Float32Array]:
        """The vectors of the gallery and of the queries, in the order of the ground truth."""
        if file.queries is not None:
            if (len(file.x), len(file.queries)) != (len(listing.gallery), len(listing.queries)):
                raise BadInput(
                    f"{file.path} holds {len(file.x)} vectors and {len(file.queries)} queries, but "
                    f"{self.name} has {len(listing.gallery)} and {len(listing.queries)}."
                )
            return file.x, file.queries
        names = file.names()
        if names is None:
            raise BadInput(f"{file.path} needs the vectors of the queries as x_query, or the names as paths.")
        parts = []
        for wanted in (listing.gallery, listing.queries):
            rows = match_names(map(name_keys, wanted), names)
            if -1 in rows:
                raise BadInput(f"{file.path} has no vector for {wanted[rows.index(-1)]} of {self.name}.")
            parts.append(file.x[rows])
        return parts[0], parts[1]


class WithDistractors(Source):
    """A set with queries whose gallery is followed by pictures that are right for no query."""

    base: QuerySource
    distractors: str  # name of their feature files
    distractor_folders: tuple[str, ...]

    def layout(self) -> tuple[str, ...]:
        return (*self.base.layout(), *self._distractor_layout())

    def found(self, root: Path | None) -> Path | None:
        if root is None or self.base.found(root) is None:
            return None
        return next(iter(feature_files(root, self.distractors)), None) or self._distractor_folder(root)

    def missing(self, root: Path | None, kind: Kind = "auto") -> MissingData:
        if root is None:
            return super().missing(root, kind)
        return MissingData(
            f"{self.name} is not in {root}: beside {self.base.name} it needs the distractors, looked for as "
            f"{' or '.join(self._distractor_layout())}; get them from {self.source}."
        )

    def load(self, root: Path | None, kind: Kind) -> Dataset:
        if root is None:
            raise self.missing(root)
        base = self.base.load(root, kind)
        paths = self._distractor_paths(root)
        if base.gallery is None:
            if base.gallery_paths is None or paths is None:
                raise self.missing(root)
            return replace(base, name=self.name, gallery_paths=[*base.gallery_paths, *paths])
        file = self._distractor_file(root)
        if file is None:
            raise self.missing(root)
        vectors = read_features(file, dim=base.gallery.shape[1]).x
        together = None
        if base.gallery_paths is not None and paths is not None and len(paths) == len(vectors):
            together = [*base.gallery_paths, *paths]
        gallery = np.concatenate([base.gallery, vectors])
        return replace(base, name=self.name, gallery=gallery, gallery_paths=together)

    def _distractor_layout(self) -> list[str]:
        folders = [f"{folder}/**/*.jpg" for folder in self.distractor_folders]
        return [*folders, f"features/{self.distractors}_*.npz (.npy, .mat)"]

    def _distractor_folder(self, root: Path) -> Path | None:
        places = (root / folder for folder in self.distractor_folders)
        return next((place for place in places if any(place.glob("**/*.jpg"))), None)

    def _distractor_paths(self, root: Path) -> list[Path] | None:
        """The distractors in the order of their published list, else by name."""
        folder = self._distractor_folder(root)
        if folder is None:
            return None
        listed = folder.parent / f"{self.distractors}.txt"
        if listed.is_file():
            return [folder / safe_name(name, listed) for name in read_lines(listed)]
        return [folder / name for name in picture_names(folder)]

    def _distractor_file(self, root: Path) -> Path | None:
        """The distractors described in the same way as the base set, else the only ones there are."""
        base = self.base.feature_file(root)
        way = "" if base is None else base.stem.removeprefix(self.base.name)
        files = feature_files(root, self.distractors)
        same = [path for path in files if path.stem == f"{self.distractors}{way}"]
        return only_file(same or files, self.distractors)


def rows_of_split(file: FeatureFile, *parts: str) -> tuple[list[int], list[str]]:
    """The rows of a feature file whose split is one of these parts, and the names of these rows."""
    if file.split is None or file.paths is None or not set(parts) & set(file.split):
        raise BadInput(
            f"{file.path} does not say what is {' or '.join(parts)}: give it split and paths, or put the "
            "published files of the set beside it."
        )
    rows = [row for row, part in enumerate(file.split) if part in parts]
    return rows, [f"{file.split[row]}/{file.paths[row]}" for row in rows]


def _need_all(paths: Sequence[Path] | None) -> None:
    lost = next((path for path in paths or () if not path.is_file()), None)
    if lost is not None:
        raise MissingData(f"{lost} is listed, but is not there; unpack the pictures of the set again.")
