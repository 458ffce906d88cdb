"""The catalogue: one SQLite file that says what is in the index. What it does not commit did not happen.

A write-ahead log lets readers go on while one writer commits; every commit is synced to the disk.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from foldwalk.core.errors import BadInput, MissingData, UnknownName
from foldwalk.index.blocks import cut_leftovers, sync_folder
from foldwalk.index.errors import Damaged, read_errors, write_errors
from foldwalk.index.lock import writer_lock
from foldwalk.index.types import Item
from foldwalk.neighbors.similarity import METRICS

FILE = "catalog.db"
FORMAT = 1
SCHEMA = """
CREATE TABLE state (
    version INTEGER NOT NULL, vectors_version INTEGER NOT NULL, next_number INTEGER NOT NULL,
    block TEXT NOT NULL, rows INTEGER NOT NULL, dim INTEGER, metric TEXT NOT NULL,
    backbone TEXT, identity TEXT, uid TEXT NOT NULL);
CREATE TABLE items (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, row INTEGER NOT NULL UNIQUE, metadata TEXT NOT NULL,
    source TEXT, size INTEGER, mtime INTEGER, added TEXT NOT NULL);
CREATE TABLE segments (start INTEGER PRIMARY KEY, rows INTEGER NOT NULL, checksum TEXT NOT NULL);
CREATE TABLE thumbnails (number INTEGER PRIMARY KEY, jpeg BLOB NOT NULL);
"""


@dataclass(frozen=True)
class State:
    """The one row that every change replaces.

    `vectors_version` is the version at which vectors last changed; `rows` counts those of the block file,
    removed ones included; `next_number` is never given twice; `uid` tells this index from any other.
    """

    version: int
    vectors_version: int
    next_number: int
    block: str
    rows: int
    dim: int | None
    metric: str
    backbone: str | None
    identity: str | None
    uid: str

    @classmethod
    def read(cls, db: sqlite3.Connection) -> State:
        names = ", ".join(field.name for field in fields(cls))
        found = db.execute(f"SELECT {names} FROM state").fetchone()
        if found is None:
            raise Damaged("the catalogue has lost its state; restore it from a copy.")
        return cls(*found)

    def write(self, db: sqlite3.Connection) -> None:
        names = [field.name for field in fields(self)]
        values = [getattr(self, name) for name in names]
        db.execute(f"UPDATE state SET {', '.join(f'{name} = ?' for name in names)}", values)


class Catalog:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.RLock()
        self._db = _connect(folder, "ro")

    @classmethod
    def create(cls, folder: Path, metric: str, backbone: str | None) -> Catalog:
        """A new, empty index: made under another name and moved to its place as a whole."""
        if metric not in METRICS:
            raise BadInput(f"metric must be one of {', '.join(METRICS)}, but it is {metric!r}.")
        if os.path.lexists(folder):
            raise BadInput(f"{folder} exists already; open it, or choose another name.")
        if not folder.absolute().parent.is_dir():
            raise MissingData(f"{folder.absolute().parent} is not a folder; create it first.")
        made = folder.absolute().parent / f".{folder.name}-{secrets.token_hex(4)}"
        with write_errors(folder):
            try:
                for part in (made, made / "blocks", made / "derived"):
                    part.mkdir()
                db = _connect(made, "rwc")
                db.executescript(f"PRAGMA journal_mode = WAL; PRAGMA user_version = {FORMAT}; {SCHEMA}")
                state = (metric, backbone, secrets.token_hex(8))
                db.execute("INSERT INTO state VALUES (0, 0, 0, '000001.f32', 0, NULL, ?, ?, NULL, ?)", state)
                db.close()
                os.rename(made, folder)
                sync_folder(folder.absolute().parent)
            finally:
                shutil.rmtree(made, ignore_errors=True)
        return cls(folder)

    @classmethod
    def open(cls, folder: Path) -> Catalog:
        if not folder.is_dir():
            raise MissingData(f"{folder} does not exist; make an index with  foldwalk index.")
        if not (folder / FILE).is_file():
            raise BadInput(f"{folder} is not an index: it has no {FILE}; make one with  foldwalk index.")
        catalog = cls(folder)
        try:
            (found,) = catalog._one("PRAGMA user_version")
            if found > FORMAT:
                raise BadInput(f"{folder} was written by a newer foldwalk (format {found}); update foldwalk.")
            if found != FORMAT:
                raise BadInput(f"{folder / FILE} is not the catalogue of an index.")
            catalog.state()
        except BaseException:
            catalog.close()
            raise
        return catalog

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @property
    def blocks(self) -> Path:
        return self.folder / "blocks"

    @property
    def derived(self) -> Path:
        return self.folder / "derived"

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one committed version throughout."""
        with self._lock, read_errors(self.folder / FILE):
            self._db.execute("BEGIN")
            try:
                yield self._db
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The writer's connection: the lock is held, and what stopped writers left behind is gone."""
        with write_errors(self.folder), writer_lock(self.folder):
            db = _connect(self.folder, "rw")
            try:
                db.execute("PRAGMA synchronous = FULL")
                state = State.read(db)
                cut_leftovers(self.blocks, state.block, state.rows * (state.dim or 0) * 4)
                yield db
            finally:
                with suppress(sqlite3.Error):  # what is committed stays so without it
                    db.execute("PRAGMA wal_checkpoint")
                db.close()

    def state(self) -> State:
        with self.reading() as db:
            return State.read(db)

    def version(self) -> int:
        (version,) = self._one("SELECT version FROM state")
        return int(version)

    def item(self, key: str) -> Item:
        found = self._one("SELECT key, metadata, source, added FROM items WHERE key = ?", key)
        if found is None:
            raise unknown_key(key)
        return Item(found[0], json.loads(found[1]), found[2], found[3])

    def thumbnail(self, key: str) -> bytes | None:
        query = "SELECT jpeg FROM items LEFT JOIN thumbnails USING (number) WHERE key = ?"
        found = self._one(query, key)
        if found is None:
            raise unknown_key(key)
        return None if found[0] is None else bytes(found[0])

    def _one(self, query: str, *values: Any) -> Any:
        with self._lock, read_errors(self.folder / FILE):
            return self._db.execute(query, values).fetchone()


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # SQLite itself goes back when the disk is full
            db.execute("ROLLBACK")
        raise


def unknown_key(key: str) -> UnknownName:
    return UnknownName(f"there is no item {key!r} in the index.")


def _connect(folder: Path, mode: str) -> sqlite3.Connection:
    # A folder that cannot be written cannot hold the log either: nobody else writes there.
    if mode == "ro" and not os.access(folder, os.W_OK) and not (folder / f"{FILE}-wal").exists():
        mode = "ro&immutable=1"
    address = f"{(folder / FILE).absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=30, isolation_level=None, check_same_thread=False)
