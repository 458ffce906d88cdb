"""What is derived from the vectors: one file per group of rows, written whole or not at all.

A group of kind `fitted/cas-1f` and version 7 is the file `derived/fitted/cas-1f-7.npz`: an archive of stored
members, the row `ids` in `ids.npy`. Rows that are arrays in numpy's own format make it what numpy.savez
writes.
"""

from __future__ import annotations

import re
import time
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from foldwalk.core.whole_files import TEMPORARY, written_whole
from foldwalk.stores.base import Buffer
from foldwalk.stores.checks import check_kind
from foldwalk.stores.types import Group

FORGOTTEN_AFTER = 3600  # seconds: no file takes that long to write
AT_A_TIME = 2**20
_NAME = re.compile(r"(.+)-([0-9]+)\.npz")
_SUFFIX = ".npy"
# What broken bytes lead the reader to.
_UNREADABLE = (
    OSError, ValueError, EOFError, MemoryError, OverflowError, NotImplementedError, zipfile.BadZipFile,
)  # fmt: skip


class RowFiles:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, kind: str, version: int, rows: Mapping[str, Buffer]) -> bool:
        """A disk that is full or read-only is no reason to fail: says whether it worked."""
        path = self._path(kind, version)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _sweep(path.parent)
            with written_whole(path) as file, zipfile.ZipFile(file, "w") as archive:
                for name, content in rows.items():
                    with archive.open(name + _SUFFIX, "w", force_zip64=True) as member:
                        member.write(content)
        except OSError:
            return False
        return True

    def get(self, kind: str, version: int, keys: Iterable[str] | None) -> dict[str, bytearray] | None:
        """Every member carries a checksum: what is damaged counts as absent."""
        with (
            suppress(*_UNREADABLE),
            zipfile.ZipFile(self._path(kind, version)) as archive,
        ):
            members = {info.filename.removesuffix(_SUFFIX): info for info in archive.infolist()}
            wanted = members if keys is None else [key for key in keys if key in members]
            return {name: _read(archive, members[name]) for name in wanted}
        return None

    def groups(self, kind: str) -> list[Group]:
        """By the time they were written, the oldest first."""
        found = []
        for path in self.folder.rglob("*.npz"):
            named = _NAME.fullmatch(path.relative_to(self.folder).as_posix())
            if named and f"{named[1]}/".startswith(f"{kind}/"):
                with suppress(FileNotFoundError):
                    found.append((path.stat().st_mtime_ns, Group(named[1], int(named[2]))))
        return [group for _, group in sorted(found)]

    def drop(self, kind: str, version: int) -> None:
        with suppress(OSError):
            self._path(kind, version).unlink()

    def _path(self, kind: str, version: int) -> Path:
        return self.folder / f"{check_kind(kind)}-{version:d}.npz"


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


def _sweep(folder: Path) -> None:
    """Remove what processes that were stopped left half-written."""
    for path in folder.glob(f"{TEMPORARY}*"):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < time.time() - FORGOTTEN_AFTER:
                path.unlink()
