"""What became of files: there, gone, changed, the same ones elsewhere. Only looks, changes nothing."""

from __future__ import annotations

import os

from foldwalk.core.digests import digest_of_file
from foldwalk.stores.types import Source


def is_there(folder: str) -> bool:
    """Whether a folder is there with anything in it; the place of a disk that is unplugged stays, empty."""
    try:
        with os.scandir(folder) as entries:
            return any(True for _ in entries)
    except OSError:
        return False


def is_gone(path: str) -> bool:
    """Whether there certainly is no such file; one that may not be looked at is not gone."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def same_content(source: Source, path: str) -> bool:
    """Whether a file is the one an item was read from: its content if that is noted, else size and time."""
    try:
        status = os.stat(path)
        if status.st_size != source.size:
            return False
        if source.digest is None:
            return status.st_mtime_ns == source.mtime
        return digest_of_file(path) == source.digest
    except OSError:
        return False
