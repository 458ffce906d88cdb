"""The folder as a store. All vectors lie in one file that is mapped into memory, so reading costs nothing.

The lock is POSIX's: it works on Linux and macOS, not on Windows.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote, urlsplit

import numpy as np

from foldwalk.core.types import Float32Array
from foldwalk.stores.base import AT_A_TIME, Buffer, Store
from foldwalk.stores.errors import Damaged, unknown_key
from foldwalk.stores.folder import reading
from foldwalk.stores.folder.backup import backup
from foldwalk.stores.folder.blocks import map_rows
from foldwalk.stores.folder.catalog import Catalog
from foldwalk.stores.folder.copying import copied
from foldwalk.stores.folder.formats import digest_column
from foldwalk.stores.folder.mending import lost_items
from foldwalk.stores.folder.roots import read_roots
from foldwalk.stores.folder.rows import RowFiles
from foldwalk.stores.folder.state import State
from foldwalk.stores.folder.verify import verify
from foldwalk.stores.folder.writing import FolderWriter
from foldwalk.stores.nearest import matches
from foldwalk.stores.registry import register
from foldwalk.stores.types import Batch, Checked, Copy, Facts, Fetched, Group, Item, Lost, Snapshot, Source


@register
class FolderStore(Store):
    name = "folder"
    schemes = ("file",)
    summary = "a folder on this machine: a SQLite catalogue, and vectors in one file; any path is one"

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.rows = RowFiles(catalog.folder)
        self.url = self.place = str(catalog.folder)
        self._looked_at = ("", 0)

    # Open and close ---------------------------------------------------------------------------------------

    @classmethod
    def create(cls, url: str, metric: str, backbone: str | None) -> Self:
        return cls(Catalog.create(_folder(url), metric, backbone))

    @classmethod
    def open(cls, url: str) -> Self:
        return cls(Catalog.open(_folder(url)))

    @classmethod
    def exists(cls, url: str) -> bool:
        return os.path.lexists(_folder(url))

    def close(self) -> None:
        self.catalog.close()

    def erase(self) -> None:
        self.close()
        shutil.rmtree(self.catalog.folder)

    # Read -------------------------------------------------------------------------------------------------

    def facts(self) -> Facts:
        return self.catalog.state().facts()

    def version(self) -> int:
        return self.catalog.version()

    def count(self, where: Mapping[str, Any] | None = None) -> int:
        if not where:
            return int(self.catalog.one("SELECT count(*) FROM items")[0])
        with self.catalog.reading() as db:
            texts = [text for (text,) in db.execute("SELECT metadata FROM items")]
        return int(matches(texts, where).sum())

    def scan(self, after: int = -1, batch: int = AT_A_TIME, with_vectors: bool = True) -> Batch:
        query = "SELECT number, key, row, metadata FROM items WHERE number > ? ORDER BY number LIMIT ?"
        state, found, stored = self._read(query, (after, batch))
        numbers, keys, places, texts = reading.columns(found, state.rows)
        wanted = stored[places] if with_vectors else stored[:0]
        return Batch(numbers, keys, texts, reading.check_numbers(wanted, state.metric))

    def snapshot(self) -> Snapshot:
        query = "SELECT number, key, row, metadata FROM items ORDER BY number"
        state, found, stored = self._read(query)
        numbers, keys, places, texts = reading.columns(found, state.rows)
        gapless = np.array_equal(places, np.arange(state.rows))

        def gather() -> Float32Array:
            self._check_once(state, stored)
            return stored if gapless else stored[places]

        return Snapshot(state.facts(), numbers, keys, texts, gather)

    def fetch(self, keys: Sequence[str]) -> Fetched:
        state, rows, stored = self._read("SELECT row FROM items WHERE key = ?", each=keys)
        found = np.array([row is not None for row in rows], bool)
        out = np.zeros((len(keys), state.dim or 0), np.float32)
        wanted = stored[reading.places((row[0] for row in rows if row is not None), state.rows)]
        out[found] = reading.check_numbers(wanted, state.metric)
        return Fetched(out, found)

    def items(self, keys: Sequence[str]) -> list[Item | None]:
        query = "SELECT key, metadata, source, added FROM items WHERE key = ?"
        with self.catalog.reading() as db:
            found = [db.execute(query, (key,)).fetchone() for key in keys]
        return [row and reading.item(row) for row in found]

    def thumbnail(self, key: str) -> bytes | None:
        query = "SELECT jpeg FROM items LEFT JOIN thumbnails USING (number) WHERE key = ?"
        found = self.catalog.one(query, key)
        if found is None:
            raise unknown_key(key)
        return reading.picture(found[0])

    def sources(self) -> Iterator[Source]:
        after = -1
        while True:
            with self.catalog.reading() as db:
                columns = f"number, key, source, size, mtime, {digest_column(State.read(db).format)}"
                query = f"SELECT {columns} FROM items WHERE number > ? AND source IS NOT NULL"
                found = db.execute(f"{query} ORDER BY number LIMIT ?", (after, AT_A_TIME)).fetchall()
            if not found:
                return
            yield from (Source(*row) for _, *row in found)
            after = found[-1][0]

    def roots(self) -> dict[str, str]:
        with self.catalog.reading() as db:
            return read_roots(db, State.read(db))

    def _read(
        self, query: str, values: Sequence[Any] = (), each: Sequence[str] | None = None
    ) -> tuple[State, list[Any], Float32Array]:
        """The answer to a query, or to one for each key, with the state and the vectors of that version."""
        while True:
            with self.catalog.reading() as db:
                state = State.read(db)
                if each is None:
                    found = db.execute(query, values).fetchall()
                else:
                    found = [db.execute(query, (key,)).fetchone() for key in each]
            try:
                return state, found, map_rows(self.catalog.folder, state.block, state.rows, state.dim or 0)
            except Damaged:
                if self.catalog.state().block == state.block:
                    raise  # else the file was replaced by a rebuild just now: look again

    def _check_once(self, state: State, stored: Float32Array) -> None:
        """Look at the numbers of the vectors that came since the last time."""
        block, rows = self._looked_at
        reading.check_numbers(stored[rows:] if block == state.block else stored, state.metric)
        self._looked_at = (state.block, state.rows)

    # Change -----------------------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[FolderWriter]:
        with self.catalog.writing() as db:
            yield FolderWriter(self.catalog, db)

    # What is derived from the vectors ---------------------------------------------------------------------

    def put_rows(self, kind: str, version: int, rows: Mapping[str, Buffer]) -> bool:
        return self.rows.put(kind, version, rows)

    def get_rows(
        self, kind: str, version: int, keys: Iterable[str] | None = None
    ) -> dict[str, bytearray] | None:
        return self.rows.get(kind, version, keys)

    def groups(self, kind: str) -> list[Group]:
        return self.rows.groups(kind)

    def drop_rows(self, kind: str, version: int) -> None:
        self.rows.drop(kind, version)

    # Look after it ----------------------------------------------------------------------------------------

    def verify(self) -> Checked:
        self.catalog.watch.stop()  # the same, and more
        return verify(self.catalog.folder)

    def forgive(self) -> None:
        self.catalog.watch.forgive()

    @contextmanager
    def copied(self) -> Iterator[Copy]:
        with self.writing(), copied(self.catalog.folder) as copy:
            yield copy

    def mend(self, drop: Sequence[int] = (), thumbnails: Mapping[int, bytes | None] | None = None) -> None:
        with self.writing() as writer:
            writer.mend(drop, thumbnails or {})

    def lost(self) -> list[Lost]:
        with self.catalog.reading() as db:
            return lost_items(db, self.catalog.folder)

    def backup(self, target: Path, replace: bool = False) -> Checked:
        return backup(self.catalog.folder, target, replace)

    def size_in_bytes(self) -> int:
        total = 0
        for _, _, names, folder in os.fwalk(self.catalog.folder):
            for name in names:
                with suppress(FileNotFoundError):  # files of others may vanish while they are counted
                    total += os.stat(name, dir_fd=folder, follow_symlinks=False).st_size
        return total

    def gaps(self) -> float:
        rows = self.catalog.state().rows
        return 1 - self.count() / rows if rows else 0.0

    def compact(self) -> None:
        with self.writing() as writer:
            writer.compact()


def _folder(url: str) -> Path:
    return Path(unquote(urlsplit(url).path) if url.startswith("file://") else url)
