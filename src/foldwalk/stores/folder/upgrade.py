"""From older formats to the present one, one step each.

Steps run under the writer's lock, in the transaction of the first change: stopped anywhere, the catalogue is
as it was. Reading an older format does not change it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from foldwalk.stores.folder import formats
from foldwalk.stores.folder.blocks import checksum, map_rows
from foldwalk.stores.folder.checksums import seal
from foldwalk.stores.folder.segments import pieces, runs


def bring_up_to_date(db: sqlite3.Connection, index: Path) -> None:
    """Every step that is missing; within the caller's transaction."""
    (found,) = db.execute("PRAGMA user_version").fetchone()
    for number in range(found, formats.FORMAT):
        STEPS[number](db, index)
    if found < formats.FORMAT:
        db.execute(f"PRAGMA user_version = {formats.FORMAT}")


def _seal_rows(db: sqlite3.Connection, index: Path) -> None:
    db.execute("ALTER TABLE items ADD COLUMN digest TEXT")
    for table in ("state", "items", "thumbnails"):
        db.execute(f"ALTER TABLE {table} ADD COLUMN checksum INTEGER")
        seal(db, table)
    db.execute(
        "CREATE TABLE roots (prefix TEXT PRIMARY KEY NOT NULL, folder TEXT NOT NULL, checksum INTEGER)"
    )
    block, rows, dim = db.execute("SELECT block, rows, dim FROM state").fetchone()
    stored = map_rows(index, block, rows, dim or 0)
    for start, count, digest in list(runs(db)):
        part = stored[start : start + count]
        if checksum(part) == digest:  # what is damaged keeps the checksum that says so
            db.execute("DELETE FROM segments WHERE start = ?", (start,))
            db.executemany("INSERT INTO segments VALUES (?, ?, ?)", pieces(stored, start, start + count))


# The step from each older format to the one after it.
STEPS: dict[int, Callable[[sqlite3.Connection, Path], None]] = {1: _seal_rows}
