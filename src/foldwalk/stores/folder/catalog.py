"""The catalogue: one SQLite file that says what is in the index. What it does not commit did not happen.

A write-ahead log lets readers go on while one writer commits; every commit is synced to the disk.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from foldwalk.core.errors import BadInput, MissingData
from foldwalk.neighbors.similarity import METRICS
from foldwalk.stores.folder import formats
from foldwalk.stores.folder.blocks import FIRST_BLOCK
from foldwalk.stores.folder.checksums import row_checksum
from foldwalk.stores.folder.connecting import FILE, check_tables, connect
from foldwalk.stores.folder.errors import nothing_changed, read_errors, write_errors
from foldwalk.stores.folder.lock import writer_lock
from foldwalk.stores.folder.making import made_whole
from foldwalk.stores.folder.state import State
from foldwalk.stores.folder.watch import Watch


class Catalog:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.watch = Watch(folder)
        self._lock = threading.RLock()
        self._db = connect(folder, "ro")

    @classmethod
    def create(cls, folder: Path, metric: str, backbone: str | None) -> Catalog:
        """A new, empty index: made under another name and moved to its place as a whole."""
        if metric not in METRICS:
            raise BadInput(f"metric must be one of {', '.join(METRICS)}, but it is {metric!r}.")
        with made_whole(folder) as made:
            (made / FILE).touch(exist_ok=False)  # by SQLite itself the group would never write
            with closing(connect(made, "rw")) as db:
                db.executescript(
                    f"PRAGMA journal_mode = WAL; PRAGMA user_version = {formats.FORMAT}; {formats.SCHEMA}"
                )
                state = (0, 0, 0, FIRST_BLOCK, 0, None, metric, backbone, None, secrets.token_hex(8))
                places = ", ".join("?" * (len(state) + 1))
                db.execute(f"INSERT INTO state VALUES ({places})", (*state, row_checksum(*state)))
        return cls(folder)

    @classmethod
    def open(cls, folder: Path) -> Catalog:
        if not folder.is_dir():
            raise MissingData(f"{folder} does not exist; make an index with  foldwalk index.")
        if not os.path.lexists(folder / FILE):
            raise BadInput(f"{folder} is not an index: it has no {FILE}; make one with  foldwalk index.")
        catalog = cls(folder)
        try:
            with catalog.reading() as db:
                check_tables(db, folder / FILE)
                State.read(db)
        except BaseException:
            catalog.close()
            raise
        weakref.finalize(catalog, catalog.watch.stop)
        catalog.watch.start()
        return catalog

    def close(self) -> None:
        self.watch.stop()
        with self._lock:
            self._db.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one committed version throughout."""
        self.watch.check()
        with self._lock, read_errors(self.folder):
            self._db.execute("BEGIN")
            try:
                yield self._db
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The writer's connection: the lock is held."""
        self.watch.check()
        with write_errors(self.folder, nothing_changed), writer_lock(self.folder):
            db = connect(self.folder, "rw")
            try:
                db.execute("PRAGMA synchronous = FULL")
                before = State.read(db).version
                with write_errors(self.folder, lambda: self._since(before)):
                    yield db
            finally:
                with suppress(sqlite3.Error):  # what is committed stays so without it
                    db.execute("PRAGMA wal_checkpoint")
                db.close()

    def _since(self, before: int) -> str:
        same = self.state().version == before
        return nothing_changed() if same else "what was committed before it stays"

    def state(self) -> State:
        with self.reading() as db:
            return State.read(db)

    def version(self) -> int:
        return self.state().version

    def one(self, query: str, *values: Any) -> Any:
        """The first row of an answer, None where there is none."""
        self.watch.check()
        with self._lock, read_errors(self.folder):
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
