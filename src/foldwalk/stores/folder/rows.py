"""What is derived from the vectors: one file per group of rows, written whole or not at all.

A group of kind `fitted/cas-1f` and version 7 is the file `derived/fitted/cas-1f-7.npz`: an archive of stored
members, the row `ids` in `ids.npy`. Rows that are arrays in numpy's own format make it what numpy.savez
writes.
"""

from __future__ import annotations

import os
import re
import time
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from foldwalk.core.whole_files import TEMPORARY, written_whole_in
from foldwalk.stores.base import Buffer
from foldwalk.stores.checks import check_kind, is_kind
from foldwalk.stores.errors import Damaged
from foldwalk.stores.folder.below import opened_file, opened_folder, plain_names
from foldwalk.stores.types import Group

FOLDER = "derived"
FORGOTTEN_AFTER = 3600  # seconds: no file takes that long to write
AT_A_TIME = 2**20
_NAME = re.compile(r"(.+)-(0|[1-9][0-9]{0,19})\.npz")
_SUFFIX = ".npy"


class RowFiles:
    def __init__(self, index: Path) -> None:
        self.index = index

    def put(self, kind: str, version: int, rows: Mapping[str, Buffer]) -> bool:
        """A disk that is full or read-only is no reason to fail: says whether it worked."""
        place = place_of(kind, version)
        try:
            with opened_folder(self.index, str(place.parent), make=True) as folder:
                _sweep(folder)
                with written_whole_in(folder, place.name) as file, zipfile.ZipFile(file, "w") as archive:
                    for name, content in rows.items():
                        with archive.open(name + _SUFFIX, "w", force_zip64=True) as member:
                            member.write(content)
        except (OSError, Damaged, ValueError, MemoryError):  # ValueError: an archive that was broken off
            return False
        return True

    def get(self, kind: str, version: int, keys: Iterable[str] | None) -> dict[str, bytearray] | None:
        """Every member carries a checksum: what is damaged counts as absent."""
        place = str(place_of(kind, version))
        with (
            suppress(Exception),  # broken bytes lead the reader to errors of any kind
            opened_file(self.index, place) as file,
            zipfile.ZipFile(file) as archive,
        ):
            size = os.fstat(file.fileno()).st_size
            members = _members(archive, size)
            wanted = members if keys is None else [key for key in keys if key in members]
            return {name: _read(archive, members[name]) for name in wanted}
        return None

    def groups(self, kind: str = "") -> list[Group]:
        """Of a kind or of all, by the time they were written, the oldest first."""
        found = []
        with suppress(OSError, Damaged), opened_folder(self.index, FOLDER) as derived:
            for below, _, names, folder in os.fwalk(".", dir_fd=derived, follow_symlinks=False):
                for name in names:
                    named = _NAME.fullmatch(PurePosixPath(below, name).as_posix())
                    if named and is_kind(named[1]) and f"{named[1]}/".startswith(f"{kind}/" if kind else ""):
                        with suppress(FileNotFoundError):
                            written = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime_ns
                            found.append((written, Group(named[1], int(named[2]))))
        return [group for _, group in sorted(found)]

    def drop(self, kind: str, version: int) -> None:
        place = place_of(kind, version)
        with suppress(OSError, Damaged), opened_folder(self.index, str(place.parent)) as folder:
            os.unlink(place.name, dir_fd=folder)


def place_of(kind: str, version: int) -> PurePosixPath:
    """Below the index."""
    return PurePosixPath(FOLDER, f"{check_kind(kind)}-{version:d}.npz")


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """By name. What they say of their sizes is held against the file before memory is taken for it."""
    found = archive.infolist()
    if sum(info.file_size for info in found) > size or any(
        info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size for info in found
    ):
        raise ValueError("members are stored as they are, and lie within the file")
    return {info.filename.removesuffix(_SUFFIX): info for info in found}


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytearray:
    """A member's bytes, into memory that whoever reads them may write to."""
    content = bytearray(info.file_size)
    filled = memoryview(content)
    with archive.open(info) as member:
        while filled:
            part = member.read(min(AT_A_TIME, len(filled)))
            if not part:
                raise EOFError
            filled[: len(part)] = part
            filled = filled[len(part) :]
    return content


def _sweep(folder: int) -> None:
    """Remove what processes that were stopped left half-written."""
    for name in plain_names(folder):
        if name.startswith(TEMPORARY):
            with suppress(FileNotFoundError):
                if os.stat(name, dir_fd=folder).st_mtime < time.time() - FORGOTTEN_AFTER:
                    os.unlink(name, dir_fd=folder)
