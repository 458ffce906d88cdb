"""Connections to the catalogue: to a plain file whose tables are the ones that foldwalk makes."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from foldwalk.core.errors import BadInput
from foldwalk.stores.errors import Damaged, lost
from foldwalk.stores.folder import formats
from foldwalk.stores.folder.below import check_plain
from foldwalk.stores.folder.checksums import teach

FILE = "catalog.db"
LONGEST_VALUE = 2**26  # bytes of one text or picture


def connect(folder: Path, mode: str) -> sqlite3.Connection:
    """`mode` is SQLite's: ro or rw."""
    _check_files(folder, to_write=mode != "ro")
    # A folder that cannot be written cannot hold the log either: nobody else writes there.
    if mode == "ro" and not os.access(folder, os.W_OK) and not (folder / f"{FILE}-wal").exists():
        mode = "ro&immutable=1"
    address = f"{(folder / FILE).absolute().as_uri()}?mode={mode}"
    db = sqlite3.connect(address, uri=True, timeout=30, isolation_level=None, check_same_thread=False)
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA cell_size_check = ON")
    teach(db)
    return db


def check_tables(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a catalogue of a newer format, and one with other tables than its format has."""
    (format,) = db.execute("PRAGMA user_version").fetchone()
    if format > formats.FORMAT:
        raise BadInput(f"{path.parent} was written by a newer foldwalk (format {format}); update foldwalk.")
    if format < 1:
        raise BadInput(f"{path} is not the catalogue of an index.")
    wanted = formats.tables(format)
    for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_master"):
        if kind == "table" and sql and wanted.pop(name, None) == " ".join(sql.split()):
            continue
        if kind != "index" or sql is not None:  # those that SQLite makes for unique columns have no text
            raise BadInput(f"{path} is not the catalogue of an index: its {kind} {name!r} is a stranger.")
    if wanted:
        raise lost(f"{path} has lost its table {min(wanted)}")


def _check_files(folder: Path, to_write: bool) -> None:
    """SQLite opens them by name: what it is to open must be plain files."""
    for suffix in ("", "-wal", "-shm"):
        path = folder / f"{FILE}{suffix}"
        with suppress(FileNotFoundError):
            check_plain(path, path.lstat(), to_write or suffix != "")
    if os.path.lexists(folder / f"{FILE}-journal"):
        # The catalogue has a log instead; a journal may name files elsewhere that SQLite would remove.
        raise Damaged(f"{folder / FILE}-journal is no part of an index; it is not touched.")
