"""Vectors on disk: float32 rows in one growing file, written behind its committed end and synced there.

Rows are only ever appended. The catalogue knows how many count; whatever lies behind them was being written
when someone was stopped, is never read, and is cut off by the next writer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import numpy as np

from foldwalk.core.types import Float32Array
from foldwalk.stores.errors import Damaged

FIRST_BLOCK = "000001.f32"
ROWS_AT_A_TIME = 16_384


def checksum(rows: Float32Array) -> str:
    digest = blake2b(digest_size=16)
    for part in _parts(rows):
        digest.update(memoryview(part))  # type: ignore[arg-type]
    return digest.hexdigest()


def append(path: Path, committed: int, rows: Float32Array) -> None:
    """Write rows behind the `committed` ones, and make sure that they are on the disk."""
    is_new = not path.exists()
    with open(path, "wb" if is_new else "r+b", buffering=0) as file:
        end = committed * rows.shape[1] * 4
        file.truncate(end)
        file.seek(end)
        for part in _parts(rows):
            left = memoryview(part).cast("B")  # type: ignore[arg-type]
            while left:
                left = left[file.write(left) :]
        os.fsync(file.fileno())
    if is_new:
        sync_folder(path.parent)


def map_rows(path: Path, count: int, dim: int) -> Float32Array:
    """The first `count` rows of a file, as memory that is read when it is touched."""
    if count == 0:
        return np.zeros((0, dim), np.float32)
    if not path.exists() or path.stat().st_size < count * dim * 4:
        raise Damaged(f"{path} is missing or shorter than its {count} vectors; restore it from a copy.")
    # Copy on write: kernels compiled for arrays of the usual, writable kind take it, and the file is safe.
    return np.asarray(np.memmap(path, np.float32, "c", shape=(count, dim)))


def cut_leftovers(folder: Path, current: str, size: int) -> None:
    """Remove what was never committed: bytes behind the end, and files that are not the current one."""
    for path in folder.iterdir():
        if path.name != current:
            path.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        if (folder / current).stat().st_size > size:
            os.truncate(folder / current, size)


def next_block(name: str) -> str:
    """The name of the file after this one: 000001.f32, 000002.f32, ..."""
    return f"{int(name.split('.')[0]) + 1:06d}.f32"


def sync_folder(folder: Path) -> None:
    """Make sure that the names of new files are on the disk, too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _parts(rows: Float32Array) -> Iterator[Float32Array]:
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        yield np.ascontiguousarray(rows[start : start + ROWS_AT_A_TIME])
