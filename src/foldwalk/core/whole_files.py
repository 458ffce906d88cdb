"""Files written whole or not at all, and on the disk when the call has returned."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

TEMPORARY = ".foldwalk-"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def written_whole(target: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `target` when the block ends, and vanishes when it fails."""
    folder = os.open(target.absolute().parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with written_whole_in(folder, target.name) as file:
            yield file
    finally:
        os.close(folder)


@contextmanager
def written_whole_in(folder: int, name: str) -> Iterator[BinaryIO]:
    """The same for a file of this name in an open folder."""
    temporary = f"{TEMPORARY}{secrets.token_hex(8)}"
    handle = os.open(temporary, _NEW, 0o666, dir_fd=folder)  # less the umask, as files of any program
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)


def write_whole(path: Path, content: bytes) -> None:
    with written_whole(path) as file:
        file.write(content)
