"""What is damaged, item by item, and the parts of the catalogue that can be put right without them.

For `foldwalk repair`, which works on a copy: whatever is taken out here is still in the index it was made of.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from foldwalk.stores.folder.below import opened_file
from foldwalk.stores.folder.blocks import FOLDER, map_rows, stored_checksum
from foldwalk.stores.folder.checksums import SEALED, row_checksum
from foldwalk.stores.folder.segments import pieces, runs
from foldwalk.stores.folder.state import State
from foldwalk.stores.types import Lost

_UNSOUND = "checksum IS NOT row_checksum({})"


def lost_items(db: sqlite3.Connection, index: Path) -> list[Lost]:
    """Items whose row, vector or thumbnail differs from its checksum; each once, by the worst of them."""
    parts = dict.fromkeys(_numbers(db, "thumbnails"), "thumbnail")
    bad = [*_bad_rows(db, index), (-(2**62), 0), (State.read(db).rows, 2**62)]  # the last two are no places
    parts |= {number: "vector" for start, end in bad for number in _within(db, start, end)}
    parts |= dict.fromkeys(_numbers(db, "items"), "row")
    columns = "number, key, metadata, source, size, mtime, digest"
    query = f"SELECT {columns} FROM items WHERE number = ?"
    found = ((part, db.execute(query, (number,)).fetchone()) for number, part in sorted(parts.items()))
    return [Lost(part, *row) for part, row in found if row is not None]


def make_whole(db: sqlite3.Connection, index: Path) -> None:
    """Let changes work on a damaged index: the file of vectors has its length, and search trees fit."""
    db.execute("REINDEX")
    state = State.read(db)
    size = state.rows * (state.dim or 0) * 4
    with opened_file(index, f"{FOLDER}/{state.block}", os.O_RDWR | os.O_CREAT) as file:
        if os.fstat(file.fileno()).st_size < size:
            file.truncate(size)  # of zeros, which their checksums tell from vectors


def put_thumbnails(db: sqlite3.Connection, jpegs: Mapping[int, bytes | None]) -> None:
    """Thumbnails in place of damaged ones, by number; None for none."""
    db.executemany("DELETE FROM thumbnails WHERE number = ?", [(number,) for number in jpegs])
    made = [(number, jpeg, row_checksum(number, jpeg)) for number, jpeg in jpegs.items() if jpeg is not None]
    db.executemany("INSERT INTO thumbnails VALUES (?, ?, ?)", made)


def put_right(db: sqlite3.Connection, index: Path) -> None:
    """What no item needs: thumbnails of none, folders that cannot be trusted, runs that no item lies in."""
    state = State.read(db)
    db.execute("DELETE FROM thumbnails WHERE number NOT IN (SELECT number FROM items)")
    db.execute(f"DELETE FROM roots WHERE {_UNSOUND.format(SEALED['roots'])}")
    for start, end in _bad_rows(db, index):
        if not _within(db, start, end):
            db.execute("DELETE FROM segments WHERE start >= ? AND start < ?", (start, end))
            stored = map_rows(index, state.block, state.rows, state.dim or 0)
            db.executemany("INSERT INTO segments VALUES (?, ?, ?)", pieces(stored, start, end))


def _numbers(db: sqlite3.Connection, table: str) -> list[int]:
    query = f"SELECT number FROM {table} WHERE {_UNSOUND.format(SEALED[table])}"
    return [number for (number,) in db.execute(query)]


def _within(db: sqlite3.Connection, start: int, end: int) -> list[int]:
    query = "SELECT number FROM items WHERE row >= ? AND row < ?"
    return [number for (number,) in db.execute(query, (start, end))]


def _bad_rows(db: sqlite3.Connection, index: Path) -> list[tuple[int, int]]:
    """First row and end of runs that differ from their checksums, and of rows that belong to none."""
    state, done, found = State.read(db), 0, []
    for start, rows, digest in runs(db):
        if start > done:
            found.append((done, start))
        if stored_checksum(index, state.block, start, rows, state.dim or 0) != digest:
            found.append((start, start + rows))
        done = max(done, start + rows)
    return found + ([(done, state.rows)] if done < state.rows else [])
