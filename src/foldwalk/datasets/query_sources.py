"""Sets with queries of their own, and their galleries made larger by distractors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from foldwalk.core.errors import BadInput, MissingData
from foldwalk.core.types import AnyArray, Float32Array, Float64Array
from foldwalk.core.vector_files import VectorFile
from foldwalk.datasets.dataset import Dataset
from foldwalk.datasets.features import (
    feature_files,
    feature_layout,
    match_names,
    name_keys,
    only_file,
    picture_names_of,
    read_features,
)
from foldwalk.datasets.published_files import picture_names, read_lines, safe_name
from foldwalk.datasets.sources import Kind, Source, need_all
from foldwalk.evaluate import Protocol


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
    def listing(self, root: Path | None, file: VectorFile | None) -> Listing:
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
        need_all([*paths[0], *paths[1]])
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

    def _rows(self, file: VectorFile, listing: Listing) -> tuple[Float32Array, Float32Array]:
        """The vectors of the gallery and of the queries, in the order of the ground truth."""
        if file.queries is not None:
            if (len(file), len(file.queries)) != (len(listing.gallery), len(listing.queries)):
                raise BadInput(
                    f"{file.path} holds {len(file)} vectors and {len(file.queries)} queries, but "
                    f"{self.name} has {len(listing.gallery)} and {len(listing.queries)}."
                )
            return file.vectors, file.queries
        names = picture_names_of(file)
        if names is None:
            raise BadInput(f"{file.path} needs the vectors of the queries as x_query, or the names as paths.")
        parts = []
        for wanted in (listing.gallery, listing.queries):
            rows = match_names(map(name_keys, wanted), names)
            if -1 in rows:
                raise BadInput(f"{file.path} has no vector for {wanted[rows.index(-1)]} of {self.name}.")
            parts.append(file.vectors[rows])
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
        vectors = read_features(file, dim=base.gallery.shape[1]).vectors
        together = None
        if base.gallery_paths is not None and paths is not None and len(paths) == len(vectors):
            together = [*base.gallery_paths, *paths]
        gallery = np.concatenate([base.gallery, vectors])
        return replace(base, name=self.name, gallery=gallery, gallery_paths=together)

    def _distractor_layout(self) -> list[str]:
        folders = [f"{folder}/**/*.jpg" for folder in self.distractor_folders]
        return [*folders, feature_layout(self.distractors)]

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


def rows_of_split(file: VectorFile, *parts: str) -> tuple[list[int], list[str]]:
    """The rows of a feature file whose split is one of these parts, and the names of these rows."""
    if file.split is None or file.keys is None or not set(parts) & set(file.split):
        raise BadInput(
            f"{file.path} does not say what is {' or '.join(parts)}: give it split and paths, or put the "
            "published files of the set beside it."
        )
    rows = [row for row, part in enumerate(file.split) if part in parts]
    return rows, [f"{file.split[row]}/{file.keys[row]}" for row in rows]
