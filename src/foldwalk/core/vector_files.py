"""Vectors in files, .npy, .npz and .parquet: one reader and one writer for every command.

A .npz file holds arrays, a .parquet file columns, known by their names (`NAMES`). Vectors are the rows of an
array, a column of lists, or columns of numbers; a lone array or column of lists may have any name. Beside
them stand, row for row, keys, metadata (one JSON text each), labels, split and neighbours, whose ids count
the rows of the same file; and queries with labels of their own. A .npy file holds vectors alone and is
mapped, not read. Nothing is ever unpickled.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import is_zipfile

import numpy as np

from foldwalk.core.array_files import map_npy, names_in_npz, read_npz
from foldwalk.core.errors import BadInput, FoldwalkError, MissingData, one_line
from foldwalk.core.memory import need_memory
from foldwalk.core.parquet import (
    as_column,
    holds_lists,
    holds_numbers,
    load_pyarrow,
    read_table,
    rows_of_lists,
)
from foldwalk.core.types import AnyArray
from foldwalk.core.vectors import Vectors
from foldwalk.core.whole_files import written_whole

SUFFIXES = (".npy", ".npz", ".parquet")
# The names of each part. The first is that of an array written to .npz, the second that of a column.
NAMES: dict[str, tuple[str, ...]] = {
    "vectors": ("vectors", "vector", "x", "X", "features", "gallery", "embedding"),
    "keys": ("keys", "key", "paths", "path", "id"),
    "metadata": ("metadata",),
    "labels": ("labels", "label", "gallery_labels"),
    "split": ("split",),
    "queries": ("queries", "x_query", "Q"),
    "query_labels": ("query_labels",),
    "neighbor_ids": ("neighbor_ids",),
    "neighbor_similarities": ("neighbor_similarities",),
}
PARTS = tuple(NAMES)
_KEPT_BY = {
    ".npy": ("vectors",),
    ".npz": PARTS,
    ".parquet": tuple(part for part in PARTS if part not in ("queries", "query_labels")),
}
# Names that vectors never have, though queries alone in a file are its vectors.
_BESIDE = {name for part in PARTS if part not in ("vectors", "queries") for name in NAMES[part]}


@dataclass(frozen=True, eq=False)
class VectorFile:
    """What a file holds; what it does not hold, or what was not asked for, is None."""

    vectors: AnyArray
    keys: list[str] | None = None
    metadata: list[str] | None = None
    labels: AnyArray | None = None
    split: list[str] | None = None
    queries: AnyArray | None = None
    query_labels: AnyArray | None = None
    neighbor_ids: AnyArray | None = None
    neighbor_similarities: AnyArray | None = None
    path: Path = Path()
    place: str = ""

    def __len__(self) -> int:
        return int(self.vectors.shape[0]) if self.vectors.ndim else 0

    @property
    def origin(self) -> str:
        """Where the vectors stood, and how many they are."""
        return f"{self.path}{self.place}: {' x '.join(map(str, self.vectors.shape))}"

    def checked(self, name: str | None = None, dim: int | None = None) -> Vectors:
        """The vectors in memory, checked; `name` is what the error calls them."""
        need_memory(4 * self.vectors.size, str(self.path))
        mapped = isinstance(self.vectors, np.memmap)  # read-only, which compiled code would refuse
        vectors = np.array(self.vectors) if mapped else self.vectors
        return Vectors.check(vectors, str(self.path) if name is None else f"{name} ({self.path})", dim)


def read_vector_file(path: Path, parts: Collection[str] = PARTS, dim: int | None = None) -> VectorFile:
    """Read these parts of a file, vectors always; `dim`: their number of dimensions, where it is known."""
    _check_suffix(path, SUFFIXES)
    if not path.is_file():
        raise MissingData(f"{path} does not exist or is not a file.")
    readers = {".npy": _read_npy, ".npz": _read_npz, ".parquet": _read_parquet}
    try:
        found, place = readers[path.suffix](path, {"vectors", *parts})
    except FoldwalkError:
        raise
    except Exception as error:  # broken bytes lead the readers to errors of any kind
        if isinstance(error, OSError) and error.strerror:
            raise BadInput(f"{path} cannot be read: {error.strerror}.") from None
        raise BadInput(
            f"{path} is damaged or holds something other than an array of numbers ({one_line(error)})."
        ) from None
    return vector_file(path, found, place, dim)


def vector_file(path: Path, found: Mapping[str, Any], place: str = "", dim: int | None = None) -> VectorFile:
    """The parts that were found in a file, checked to fit together."""
    parts: dict[str, Any] = {}
    for part, value in found.items():
        if part in ("keys", "metadata", "split"):
            parts[part] = _texts(value, part, path)
        elif part in ("labels", "query_labels"):
            parts[part] = _labels(value, part, path)
        else:
            parts[part] = np.asanyarray(value)
    if parts["vectors"].ndim > 1 and not parts["vectors"].size:
        raise BadInput(f"{path}{place} is empty (shape {parts['vectors'].shape}); pass at least one vector.")
    file = VectorFile(**parts, path=path, place=place)
    if _in_columns(file, dim):
        queries = None if file.queries is None else file.queries.T
        file = replace(file, vectors=file.vectors.T, queries=queries)
    for part in ("keys", "metadata", "labels", "split"):
        rows = getattr(file, part)
        if rows is not None and len(rows) != len(file):
            raise BadInput(f"{path} holds {len(file)} vectors, but {len(rows)} {part}.")
    return file


def choose_names(
    names: Sequence[str], path: Path, may_be_vectors: Sequence[str] | None = None
) -> dict[str, str]:
    """The name under which a file has each part, the vectors among those that may be vectors."""
    candidates = names if may_be_vectors is None else may_be_vectors
    known = [name for name in NAMES["vectors"] if name in candidates]
    vectors = known or [name for name in candidates if name not in _BESIDE]
    if not known and len(vectors) != 1:
        raise BadInput(
            f"{path} holds no vectors: it must have one array or column of them, or one named "
            f"{', '.join(NAMES['vectors'])}; it has {', '.join(names) or 'nothing'}."
        )
    return {**_beside([name for name in names if name != vectors[0]]), "vectors": vectors[0]}


def write_vector_file(path: Path, file: VectorFile) -> Path:
    """Write all parts there are, whole or not at all."""
    check_target(path, SUFFIXES)
    parts = {part: getattr(file, part) for part in PARTS if getattr(file, part) is not None}
    lost = [part for part in parts if part not in _KEPT_BY[path.suffix]]
    if lost:
        raise BadInput(f"{path}: a {path.suffix} file cannot hold {', '.join(lost)}; write a .npz file.")
    writers = {".npy": _write_npy, ".npz": _write_npz, ".parquet": _write_parquet}
    with written_whole(path) as out:
        writers[path.suffix](out, parts)
    return path


def check_target(path: Path, suffixes: Sequence[str]) -> None:
    """Refuse a place that cannot be written to, before the work that fills it."""
    _check_suffix(path, suffixes)
    if not path.absolute().parent.is_dir():
        raise MissingData(f"{path.absolute().parent} is not a folder; create it first.")


def _check_suffix(path: Path, suffixes: Sequence[str]) -> None:
    if path.suffix not in suffixes:
        raise BadInput(f"{path} must be a {', '.join(suffixes[:-1])} or {suffixes[-1]} file.")


def _beside(names: Collection[str]) -> dict[str, str]:
    """The name of each part but the vectors."""
    found = {part: next((name for name in NAMES[part] if name in names), None) for part in PARTS[1:]}
    return {part: name for part, name in found.items() if name is not None}


def _read_npy(path: Path, parts: Collection[str]) -> tuple[dict[str, Any], str]:  # noqa: ARG001
    return {"vectors": map_npy(path)}, ""


def _read_npz(path: Path, parts: Collection[str]) -> tuple[dict[str, Any], str]:
    if not is_zipfile(path):
        raise BadInput(f"{path} is no .npz archive; write the vectors with numpy.savez.")
    names = choose_names(names_in_npz(path), path)
    arrays = read_npz(path, [name for part, name in names.items() if part in parts])
    return {
        part: arrays[name] for part, name in names.items() if name in arrays
    }, f", array {names['vectors']}"


def _read_parquet(path: Path, parts: Collection[str]) -> tuple[dict[str, Any], str]:
    parquet = load_pyarrow()[1]
    schema = parquet.read_schema(path)
    lists = [field.name for field in schema if holds_lists(field.type)]
    wide = [field.name for field in schema if field.name not in _BESIDE]
    if lists:
        names = choose_names(schema.names, path, lists)
        place = f", column {names['vectors']}"
    elif wide and all(holds_numbers(schema.field(name).type) for name in wide):
        names = _beside(schema.names)
        place = f", {len(wide)} columns"
    else:
        raise BadInput(f"{path} must have numeric columns only, or vectors in one column of lists.")
    wanted = {part: name for part, name in names.items() if part in parts}
    table = read_table(path, [*wanted.values(), *([] if lists else wide)])
    found: dict[str, Any] = {}
    for part, name in wanted.items():
        column = table[name]
        found[part] = rows_of_lists(column, f"{path}, column {name}") if name in lists else column.to_pylist()
    if not lists:
        found["vectors"] = np.column_stack([table[name].to_numpy() for name in wide])
    return found, place


def _write_npy(out: BinaryIO, parts: Mapping[str, Any]) -> None:
    np.save(out, parts["vectors"], allow_pickle=False)


def _write_npz(out: BinaryIO, parts: Mapping[str, Any]) -> None:
    arrays = {NAMES[part][0]: np.asarray(value) for part, value in parts.items()}
    np.savez(out, **arrays)  # type: ignore[arg-type]


def _write_parquet(out: BinaryIO, parts: Mapping[str, Any]) -> None:
    pyarrow, parquet = load_pyarrow()
    columns = {NAMES[part][:2][-1]: as_column(value) for part, value in parts.items()}
    parquet.write_table(pyarrow.table(columns), out)


def _in_columns(file: VectorFile, dim: int | None) -> bool:
    """Whether each vector is a column, as the sizes tell: their number, their dimensions, the queries'."""
    vectors, queries = file.vectors, file.queries
    beside = file.labels if file.labels is not None else file.keys
    if vectors.ndim != 2:
        return False
    rows, columns = vectors.shape
    if beside is not None:
        # MATLAB alone has vectors as columns; elsewhere a wrong number of labels is a mistake.
        return file.path.suffix == ".mat" and columns == len(beside) != rows
    if dim is not None:
        return bool(rows == dim != columns)
    if queries is None or queries.ndim != 2:
        return False
    return bool(rows == queries.shape[0] and columns != queries.shape[1])


def _labels(value: Any, part: str, path: Path) -> AnyArray:
    """One label each: whole numbers or text."""
    labels = np.ravel(np.asarray(value))
    if labels.dtype.kind == "O":
        return np.array(_texts(labels, part, path))
    if labels.dtype.kind == "f" and np.isfinite(labels).all() and (labels == np.floor(labels)).all():
        return labels.astype(np.int64)
    if labels.dtype.kind not in "iubU":
        raise BadInput(f"{path}: {part} must be whole numbers or text, but their type is {labels.dtype}.")
    return labels


def _texts(value: Any, part: str, path: Path) -> list[str]:
    """One text each; keys may be numbers."""
    items = value if isinstance(value, list) else np.ravel(np.asarray(value)).tolist()
    kinds = (str, int, float) if part == "keys" else str
    if not all(isinstance(item, kinds) for item in items):
        raise BadInput(f"{path}: {part} must be text{' or numbers' if part == 'keys' else ''}.")
    return [str(item) for item in items]
