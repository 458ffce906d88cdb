"""Feature files: vectors that were computed elsewhere, with labels and names beside them.

They are vector files (`foldwalk.core.vector_files`) or MATLAB files, with the vectors under vectors (also x,
X, features, gallery), one row each; and, where known, labels, split, paths (also keys), the queries under
queries (also x_query, Q) and query_labels. The .mat files of the revisited Oxford and Paris benchmark hold X
and Q with one column each. A .npy file holds the vectors alone, their labels stand in NAME_labels.npy or
NAME_labels.txt beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.types import AnyArray
from foldwalk.core.vector_files import SUFFIXES, VectorFile, choose_names, read_vector_file, vector_file
from foldwalk.core.vectors import Vectors
from foldwalk.datasets.published_files import read_lines, read_mat

FEATURE_SUFFIXES = (*SUFFIXES, ".mat")
_PARTS = ("keys", "labels", "split", "queries", "query_labels")


def picture_names_of(file: VectorFile) -> list[tuple[str, ...]] | None:
    """For each row the names its picture may go by, the most telling first; None where it has no keys."""
    if file.keys is None:
        return None
    folders = [beside for beside in (file.labels, file.split) if beside is not None]
    return [name_keys(key, [beside[row] for beside in folders]) for row, key in enumerate(file.keys)]


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


def feature_layout(name: str) -> str:
    """What is looked for below the root, as people read it."""
    return f"features/{name}_*.npz (.npy, .parquet, .mat)"


def feature_files(root: Path, name: str) -> list[Path]:
    """<root>/features/NAME.npz, NAME_*.npz, and so with the other suffixes."""
    return sorted(
        path
        for path in (root / "features").glob(f"{name}*")
        if path.suffix in FEATURE_SUFFIXES
        and (path.stem == name or path.stem.startswith(f"{name}_"))
        and not path.stem.endswith("_labels")
    )


def only_file(files: Sequence[Path], name: str) -> Path | None:
    """The one file there is, or None; with several it is the caller's choice."""
    if len(files) > 1:
        listed = ", ".join(str(path) for path in files)
        raise BadInput(f"{name} has several feature files ({listed}); load the one you mean by its path.")
    return files[0] if files else None


def read_features(path: Path, dim: int | None = None) -> VectorFile:
    """Read a feature file, its vectors checked; `dim`: their dimensions where they are known beforehand."""
    if path.suffix == ".mat":
        arrays = {name: value for name, value in read_mat(path).items() if not name.startswith("__")}
        found = {part: arrays[name] for part, name in choose_names(list(arrays), path).items()}
        file = vector_file(path, found, dim=dim)
    else:
        file = read_vector_file(path, _PARTS, dim)
    labels = _labels_beside(path) if path.suffix == ".npy" else None
    if labels is not None:
        file = vector_file(path, {"vectors": file.vectors, "labels": labels})
    vectors = file.checked(dim=dim)
    queries = None
    if file.queries is not None:
        queries = Vectors.check(file.queries, f"{path} (queries)", vectors.dim).values
    return replace(file, vectors=vectors.values, queries=queries)


def _labels_beside(path: Path) -> AnyArray | None:
    """The labels of NAME.npy: NAME_labels.npy or NAME_labels.txt."""
    text = path.with_name(f"{path.stem}_labels.txt")
    array = text.with_suffix(".npy")
    if array.is_file():
        return read_vector_file(array).vectors
    return np.array(read_lines(text)) if text.is_file() else None
