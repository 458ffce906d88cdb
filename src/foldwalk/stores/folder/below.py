"""Plain files and folders below the index, and nothing else: no link is followed, no pipe is waited for.

An index may be a stranger's. A link in it could lead anywhere, and a file with several names is in use
elsewhere.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from foldwalk.stores.errors import Damaged

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def opened_folder(index: Path, below: str = "", make: bool = False) -> Iterator[int]:
    """A handle of the index's folder, or of one below it."""
    handle = os.open(index, _FOLDER)
    try:
        for name in PurePosixPath(below).parts:
            if make and name not in os.listdir(handle):
                os.mkdir(name, dir_fd=handle)
            within, handle = handle, _open(index, below, name, _FOLDER | os.O_NOFOLLOW, handle)
            os.close(within)
        yield handle
    finally:
        os.close(handle)


@contextmanager
def opened_file(index: Path, below: str, flags: int = os.O_RDONLY) -> Iterator[BinaryIO]:
    """A file below the index, unbuffered; the flags say whether it is read, written or made."""
    place = PurePosixPath(below)
    with opened_folder(index, str(place.parent)) as folder:
        handle = _open(index, below, place.name, flags | _FILE, folder)
    with os.fdopen(handle, "rb" if flags & os.O_ACCMODE == os.O_RDONLY else "r+b", buffering=0) as file:
        check_plain(index / below, os.fstat(handle), flags & os.O_ACCMODE != os.O_RDONLY)
        yield file


def check_plain(path: Path, found: os.stat_result, to_write: bool) -> None:
    """Refuse what is no ordinary file, or is to be written and has other names, too."""
    if not stat.S_ISREG(found.st_mode):
        raise _not_plain(path)
    if to_write and found.st_nlink > 1:
        raise Damaged(f"{path} is one file under several names; copy the index, and work with the copy.")


def plain_names(folder: int) -> list[str]:
    """The ordinary files of an open folder."""
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))


def _open(index: Path, below: str, name: str, flags: int, folder: int) -> int:
    try:
        return os.open(name, flags, 0o666, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            raise error from None
        fits = stat.S_ISDIR if flags & os.O_DIRECTORY else stat.S_ISREG
        if fits(found.st_mode):
            raise
        raise _not_plain(index / below) from None


def _not_plain(path: Path) -> Damaged:
    return Damaged(
        f"{path} is a link or no plain file or folder, and is not touched: this is no sound index."
    )
