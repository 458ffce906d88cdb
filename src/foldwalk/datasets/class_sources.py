"""Sets with a class per picture, searched leave-one-out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from foldwalk.core.errors import BadInput, MissingData
from foldwalk.core.types import AnyArray
from foldwalk.datasets.dataset import Dataset, GreyPictures
from foldwalk.datasets.features import (
    match_names,
    name_keys,
    picture_names_of,
    read_features,
)
from foldwalk.datasets.pixels import grey_pixels
from foldwalk.datasets.published_files import picture_names
from foldwalk.datasets.sources import Kind, Source, need_all
from foldwalk.evaluate import LeaveOneOut, Protocol, QueryGallery


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
        need_all(paths)
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
            self.name, "features", file.vectors, file.queries, protocol, self.metric, labels=file.labels
        )
        folder, names = self.folder(root), picture_names_of(file)
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
