"""Feature files: vectors that were computed elsewhere, with labels and names beside them.

A .npz or .mat file holds the vectors under x (also X, features, gallery), one row each; and, where known,
labels, split, paths, the queries under x_query (also Q, queries) and query_labels. The .mat files of the
revisited Oxford and Paris benchmark hold X and Q with one column each. A .npy file holds the vectors alone,
their labels stand in NAME_labels.npy or NAME_labels.txt beside it.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foldwalk.core.errors import BadInput, MissingData
from foldwalk.core.types import AnyArray, Float32Array
from foldwalk.core.vectors import Vectors
from foldwalk.datasets.published_files import first_file, read_lines, read_mat

SUFFIXES = (".npz", ".npy", ".mat")
KEYS = {
    "x": ("x", "X", "features", "gallery"),
    "queries": ("x_query", "Q", "queries"),
    "labels": ("labels", "gallery_labels"),
    "query_labels": ("query_labels",),
    "split": ("split",),
    "paths": ("paths",),
}


@dataclass(frozen=True, eq=False)
class FeatureFile:
    """The content of a feature file; what it does not hold is None."""

    path: Path
    x: Float32Array
    queries: Float32Array | None
    labels: AnyArray | None
    query_labels: AnyArray | None
    split: list[str] | None
    paths: list[str] | None

    def names(self) -> list[tuple[str, ...]] | None:
        """For each row the names its picture may go by, the most telling first."""
        if self.paths is None:
            return None
        folders = [beside for beside in (self.labels, self.split) if beside is not None]
        return [name_keys(path, [beside[row] for beside in folders]) for row, path in enumerate(self.paths)]


def name_keys(name: str, folders: Iterable[str] = ()) -> tuple[str, ...]:
    """Names by which a picture may be known: below a folder, as given, and its last part; no suffix."""
    stem, dot, suffix = name.rpartition(".")
    bare = stem if dot and "/" not in suffix and stem else name
    return (*(f"{folder}/{bare}" for folder in folders), bare, bare.rpartition("/")[2])


def match_names(wanted: Iterable[Sequence[str]], available: Iterable[Sequence[str]]) -> list[int]:
    """For each wanted item the available one that shares a name with it, or -1.

    A name that several available items share says nothing, and an available item claimed by two that differ
    in any of their names goes to neither: a picture is never guessed.
    """
    rows: dict[str, int] = {}
    shared = set()
    for row, names in enumerate(available):
        for name in names:
            if rows.setdefault(name, row) != row:
                shared.add(name)
    found = []
    claims: dict[int, Sequence[str]] = {}
    disputed = {-1}
    for names in wanted:
        row = next((rows[name] for name in names if name in rows and name not in shared), -1)
        found.append(row)
        if claims.setdefault(row, names) != names:
            disputed.add(row)
    return [-1 if row in disputed else row for row in found]


def feature_files(root: Path, name: str) -> list[Path]:
    """<root>/features/NAME.npz, NAME_*.npz (.npy, .mat)."""
    return sorted(
        path
        for path in (root / "features").glob(f"{name}*")
        if path.suffix in SUFFIXES
        and (path.stem == name or path.stem.startswith(f"{name}_"))
        and not path.stem.endswith("_labels")
    )


def only_file(files: Sequence[Path], name: str) -> Path | None:
    """The one file there is, or None; with several it is the caller's choice."""
    if len(files) > 1:
        listed = ", ".join(str(path) for path in files)
        raise BadInput(f"{name} has several feature files ({listed}); load the one you mean by its path.")
    return files[0] if files else None


def read_features(path: Path, dim: int | None = None) -> FeatureFile:
    """Read a feature file; `dim` is the number of dimensions where it is known beforehand."""
    if path.suffix not in SUFFIXES:
        raise BadInput(f"{path}: features are read from .npz, .npy and .mat files.")
    if not path.is_file():
        raise MissingData(f"{path} does not exist.")
    raw = {".npz": _read_npz, ".npy": _read_npy, ".mat": read_mat}[path.suffix](path)
    values = {part: next((raw[key] for key in keys if key in raw), None) for part, keys in KEYS.items()}
    if values["x"] is None:
        raise BadInput(f"{path} holds no vectors: none of {', '.join(KEYS['x'])} is in it.")
    labels = _labels(values["labels"], path)
    paths = _texts(values["paths"], path)
    x = np.asarray(values["x"])
    queries = None if values["queries"] is None else np.asarray(values["queries"])
    beside_x = labels if labels is not None else paths
    if beside_x is not None and path.suffix != ".mat":
        in_columns = False  # a wrong number of labels is a mistake there, not a turned matrix
    else:
        in_columns = _in_columns(x, queries, None if beside_x is None else len(beside_x), dim)
    if in_columns:
        x, queries = x.T, None if queries is None else queries.T
    gallery = Vectors.check(x, str(path), dim).values
    file = FeatureFile(
        path,
        gallery,
        None if queries is None else Vectors.check(queries, f"{path} (queries)", gallery.shape[1]).values,
        labels,
        _labels(values["query_labels"], path),
        _texts(values["split"], path),
        paths,
    )
    for part in ("labels", "split", "paths"):
        beside = getattr(file, part)
        if beside is not None and len(beside) != len(file.x):
            raise BadInput(f"{path} holds {len(file.x)} vectors, but {len(beside)} {part}.")
    return file


def _read_npz(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as file:
            wanted = {key for keys in KEYS.values() for key in keys}
            return {key: file[key] for key in file.files if key in wanted}
    except (ValueError, OSError, EOFError, KeyError, TypeError, zlib.error, zipfile.BadZipFile) as error:
        raise BadInput(f"{path} cannot be read as a NumPy file: {error}.") from None


def _read_npy(path: Path) -> dict[str, Any]:
    def read(file: Path) -> AnyArray:
        try:
            with file.open("rb") as stream:
                return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
        except (ValueError, OSError, EOFError) as error:
            raise BadInput(f"{file} cannot be read as a NumPy file: {error}.") from None

    values: dict[str, Any] = {"x": read(path)}
    beside = first_file([path.with_name(f"{path.stem}_labels{suffix}") for suffix in (".npy", ".txt")])
    if beside is not None:
        values["labels"] = read(beside) if beside.suffix == ".npy" else np.array(read_lines(beside))
    return values


def _in_columns(x: AnyArray, queries: AnyArray | None, count: int | None, dim: int | None) -> bool:
    """Whether each vector is a column, as the sizes tell: their number, their dimensions, the queries'."""
    if x.ndim != 2:
        return False
    if count is not None:
        return bool(x.shape[1] == count != x.shape[0])
    if dim is not None:
        return bool(x.shape[0] == dim != x.shape[1])
    if queries is not None and queries.ndim == 2:
        return bool(x.shape[0] == queries.shape[0] and x.shape[1] != queries.shape[1])
    return False


def _labels(value: Any, path: Path) -> AnyArray | None:
    """One label each: whole numbers or text."""
    if value is None:
        return None
    labels = np.ravel(np.asarray(value))
    if labels.dtype.kind == "O":
        return np.array(_texts(labels, path))
    if labels.dtype.kind == "f" and np.isfinite(labels).all() and (labels == np.floor(labels)).all():
        return labels.astype(np.int64)
    if labels.dtype.kind not in "iubU":
        raise BadInput(f"{path}: labels must be whole numbers or text, but their type is {labels.dtype}.")
    return labels


def _texts(value: Any, path: Path) -> list[str] | None:
    if value is None:
        return None
    texts = np.ravel(np.asarray(value)).tolist()
    if not all(isinstance(text, str) for text in texts):
        raise BadInput(f"{path}: names, splits and labels must be text or whole numbers.")
    return texts
