"""Vectors on disk: float32 rows in one growing file, written behind its committed end and synced there.

Rows are only ever appended. The catalogue knows how many count; whatever lies behind them was being written
when someone was stopped, is never read, and is cut off by the next writer.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import numpy as np

from foldwalk.core.types import Float32Array
from foldwalk.stores.errors import lost
from foldwalk.stores.folder.below import opened_file, opened_folder, plain_names

FOLDER = "blocks"
FIRST_BLOCK = "000001.f32"
ROWS_AT_A_TIME = 16_384
BYTES_AT_A_TIME = 2**20
_NAME = re.compile(r"[0-9]{6,12}\.f32")


def is_block(name: object) -> bool:
    """Whether a file may be called so."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def next_block(name: str) -> str:
    """The name of the file after this one: 000001.f32, 000002.f32, ..."""
    return f"{int(name.split('.')[0]) + 1:06d}.f32"


def checksum(rows: Float32Array) -> str:
    digest = blake2b(digest_size=16)
    for part in _parts(rows):
        digest.update(memoryview(part))  # type: ignore[arg-type]
    return digest.hexdigest()


def stored_checksum(index: Path, block: str, start: int, rows: int, dim: int) -> str | None:
    """That of rows as they are on the disk, read a few at a time; None where they cannot all be read."""
    digest, left = blake2b(digest_size=16), rows * dim * 4
    try:
        with opened_file(index, f"{FOLDER}/{block}") as file:
            file.seek(start * dim * 4)
            while left and (part := file.read(min(left, BYTES_AT_A_TIME))):
                digest.update(part)
                left -= len(part)
    except (OSError, OverflowError):
        return None
    return digest.hexdigest() if left == 0 else None


def read_rows(index: Path, block: str, count: int, dim: int) -> Iterator[tuple[int, Float32Array]]:
    """The first `count` rows, some at a time, each part with its first row; read, not mapped."""
    step, place = max(1, BYTES_AT_A_TIME // (4 * max(1, dim))), f"{FOLDER}/{block}"
    for start in range(0, count, step):
        part = np.empty((min(step, count - start), dim), np.float32)
        try:
            with opened_file(index, place) as file:
                file.seek(start * dim * 4)
                complete = file.readinto(part.data) == part.nbytes  # type: ignore[attr-defined]
        except OSError as error:
            raise lost(f"{index / place} cannot be read ({error.strerror or error})") from None
        if not complete:
            raise lost(f"{index / place} is shorter than its {count} vectors")
        yield start, part


def append(index: Path, block: str, committed: int, rows: Float32Array) -> None:
    """Write rows behind the `committed` ones, and make sure that they are on the disk."""
    with opened_file(index, f"{FOLDER}/{block}", os.O_RDWR | os.O_CREAT) as file:
        end = committed * rows.shape[1] * 4
        file.truncate(end)
        file.seek(end)
        for part in _parts(rows):
            left = memoryview(part).cast("B")  # type: ignore[arg-type]
            while left:
                left = left[file.write(left) :]
        os.fsync(file.fileno())
    if committed == 0:  # the name is new, too
        with opened_folder(index, FOLDER) as folder:
            os.fsync(folder)


def map_rows(index: Path, block: str, count: int, dim: int) -> Float32Array:
    """The first `count` rows of a file, as memory that is read when it is touched."""
    if count == 0:
        return np.zeros((0, dim), np.float32)
    with suppress(FileNotFoundError), opened_file(index, f"{FOLDER}/{block}") as file:
        if os.fstat(file.fileno()).st_size >= count * dim * 4:
            # Copy on write: kernels compiled for arrays of the usual, writable kind take it, and the file is
            # safe.
            return np.asarray(np.memmap(file, np.float32, "c", shape=(count, dim)))
    place = index / FOLDER / block
    raise lost(f"{place} is missing or shorter than its {count} vectors")


def cut_leftovers(index: Path, current: str, size: int) -> None:
    """Remove what was never committed: bytes behind the end, and blocks that are not the current one."""
    with opened_folder(index, FOLDER) as folder:
        for name in plain_names(folder):
            if is_block(name) and name != current:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=folder)
    with suppress(FileNotFoundError), opened_file(index, f"{FOLDER}/{current}", os.O_RDWR) as file:
        if os.fstat(file.fileno()).st_size > size:
            file.truncate(size)


def _parts(rows: Float32Array) -> Iterator[Float32Array]:
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        yield np.ascontiguousarray(rows[start : start + ROWS_AT_A_TIME])
