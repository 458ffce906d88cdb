"""Vectors from the files a user hands in: .npy, .npz, .parquet. Nothing is ever unpickled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foldwalk.core import BadInput, MissingData, MissingExtra, Vectors
from foldwalk.core.types import AnyArray

PREFERRED_ARRAYS = ("x", "vectors", "features")
_NPY_START = b"\x93NUMPY"


@dataclass(frozen=True)
class Source:
    """Checked vectors and a few words on where in the file they stood."""

    vectors: Vectors
    origin: str


def read_vectors(path: Path, name: str, dim: int | None = None) -> Source:
    """Read and check the vectors of one file; `name` is what error messages call them."""
    readers: dict[str, Callable[[Path], tuple[AnyArray, str]]] = {
        ".npy": _read_npy,
        ".npz": _read_npz,
        ".parquet": _read_parquet,
    }
    if path.suffix not in readers:
        raise BadInput(f"{name}: {path} must be a .npy, .npz or .parquet file.")
    if not path.is_file():
        raise MissingData(f"{name}: {path} does not exist or is not a file.")
    array, part = readers[path.suffix](path)
    vectors = Vectors.check(array, name=f"{name} ({path})", dim=dim)
    return Source(vectors, f"{path}{part}: {len(vectors)} x {vectors.dim}")


def _unreadable(path: Path, error: Exception) -> BadInput:
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return BadInput(f"{path} is damaged or holds something other than an array of numbers ({reason}).")


def _read_npy(path: Path) -> tuple[AnyArray, str]:
    try:
        with open(path, "rb") as file:
            start = file.read(len(_NPY_START))
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from None
    if start != _NPY_START:
        what = "a pickle, which is never opened" if start[:1] == b"\x80" else "no .npy file"
        raise BadInput(f"{path} is {what}; write the vectors with numpy.save.")
    try:
        # Mapping compares the header's size with the file's before any memory is asked for.
        return np.array(np.load(path, mmap_mode="r", allow_pickle=False)), ""
    except Exception as error:  # a damaged header can raise nearly anything
        raise _unreadable(path, error) from None


def _read_npz(path: Path) -> tuple[AnyArray, str]:
    try:
        archive = np.load(path, allow_pickle=False)
    except Exception as error:
        raise _unreadable(path, error) from None
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise BadInput(f"{path} is no .npz archive; write the vectors with numpy.savez.")
    with archive:
        chosen = _choose_array(archive.files, path)
        try:
            return archive[chosen], f", array {chosen}"
        except Exception as error:
            raise _unreadable(path, error) from None


def _choose_array(names: list[str], path: Path) -> str:
    if len(names) == 1:
        return names[0]
    for name in PREFERRED_ARRAYS:
        if name in names:
            return name
    found = ", ".join(names) or "none"
    raise BadInput(
        f"{path} must hold one array, or one named {', '.join(PREFERRED_ARRAYS)}; its arrays: {found}."
    )


def _read_parquet(path: Path) -> tuple[AnyArray, str]:
    try:
        import pyarrow
        from pyarrow import parquet, types
    except ImportError:
        raise MissingExtra("pyarrow", "stores", "Parquet") from None
    try:
        table = parquet.read_table(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise _unreadable(path, error) from None
    lists = [f.name for f in table.schema if types.is_list(f.type) or types.is_fixed_size_list(f.type)]
    if len(lists) == 1:
        return _stack_lists(table.column(lists[0]).to_pylist(), path, lists[0]), f", column {lists[0]}"
    numeric = [types.is_integer(f.type) or types.is_floating(f.type) for f in table.schema]
    if lists or not numeric or not all(numeric):
        raise BadInput(f"{path} must have numeric columns only, or exactly one column of lists.")
    return np.column_stack([c.to_numpy() for c in table.columns]), f", {len(numeric)} columns"


def _stack_lists(rows: list[Any], path: Path, column: str) -> AnyArray:
    lengths = [len(row) if row is not None else 0 for row in rows]
    odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
    if odd is not None:
        raise BadInput(
            f"{path}, column {column}, row {odd} has {lengths[odd]} numbers, but row 0 has {lengths[0]}."
        )
    try:
        return np.array(rows, dtype=np.float64).reshape(len(rows), -1)
    except (ValueError, TypeError) as error:
        raise _unreadable(path, error) from None
