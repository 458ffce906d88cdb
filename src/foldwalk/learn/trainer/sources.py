"""Folders of pictures, files of vectors and data sets as material to train on."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

from foldwalk import datasets, descriptors
from foldwalk.core.errors import BadInput
from foldwalk.core.progress import task
from foldwalk.core.vector_files import read_vector_file
from foldwalk.descriptors import FOR_INDEXES, Skipped, Unreadable
from foldwalk.learn.trainer.material import Material
from foldwalk.machine.cache_folder import cache_folder

KEPT = "described"  # folder of the cache


def folder_material(folder: Path) -> Material:
    """The pictures below a folder, as `foldwalk index` finds them; keys are paths below it."""
    paths = descriptors.find_pictures(folder)
    if not paths:
        raise BadInput(f"{folder} holds no pictures.")
    return Material(str(folder), [path.relative_to(folder).as_posix() for path in paths], paths=paths)


def file_material(path: Path) -> Material:
    """The vectors of a .npy, .npz or .parquet file, with what it knows of them."""
    file = read_vector_file(path, ("keys", "metadata", "labels"))
    vectors = file.checked().values
    keys = file.keys or [f"{path.stem}:{row}" for row in range(len(vectors))]
    labels = None if file.labels is None else [str(label) for label in file.labels.tolist()]
    return Material(str(path), keys, vectors, labels=labels, metadata=file.metadata)


def dataset_material(name: str, root: Path | None) -> Material:
    """A data set by its name: its features, or its pictures."""
    found = datasets.load(name, root=root)
    if found.kind == "pixels":
        found = datasets.load(name, root=root, kind="pictures")
    labels = None if found.labels is None else [str(label) for label in np.asarray(found.labels).tolist()]
    count = len(found.gallery if found.gallery is not None else found.gallery_paths or ())
    if not count:
        raise BadInput(f"{name} has neither pictures nor vectors to train on.")
    keys = [f"{name}:{row}" for row in range(count)]
    paths = None if found.gallery_paths is None else list(found.gallery_paths)
    return Material(name, keys, found.gallery, paths, labels)


def describe_material(material: Material) -> Material:
    """Pictures with the features that indexes have, for a head; files that cannot be read are left out.

    What was described is kept, so that a training that is run again begins at once.
    """
    assert material.paths is not None
    found = descriptors.describe(
        material.paths, descriptors.backbone(FOR_INDEXES), resume=cache_folder() / KEPT
    )
    left = _without(material, found.skipped)
    return replace(left, vectors=found.vectors, backbone=FOR_INDEXES)


def readable_material(material: Material) -> Material:
    """Only pictures that can be decoded, for what decodes them later and cannot leave any out."""
    assert material.paths is not None
    with ThreadPoolExecutor() as pool, task("looking", len(material), unit="pictures") as advance:
        bad = []
        for path, reason in zip(material.paths, pool.map(_reason, material.paths), strict=True):
            bad += [] if reason is None else [Skipped(path, reason)]
            advance(1)
    return _without(material, bad)


def _reason(path: Path) -> str | None:
    try:
        descriptors.load_picture(path, short_side=32)
    except Unreadable as reason:
        return str(reason)
    return None


def _without(material: Material, skipped: Sequence[Skipped]) -> Material:
    assert material.paths is not None
    bad = {item.path for item in skipped}
    good = np.array([row for row, path in enumerate(material.paths) if path not in bad], np.int64)
    if not len(good):
        first = f" ({skipped[0].path}: {skipped[0].reason.rstrip('.')})" if skipped else ""
        raise BadInput(f"{material.place} holds no picture that can be read{first}.")
    return replace(material.rows(good), skipped=skipped)
