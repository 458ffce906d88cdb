"""Runs of vectors with a checksum each: pieces of 1 to 4 MB, so that damage is found where it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from foldwalk.core.types import Float32Array
from foldwalk.stores.errors import Damaged
from foldwalk.stores.folder.blocks import checksum

PIECE = 2 * 2**20  # bytes
SMALLEST = 2**20


def pieces(stored: Float32Array, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """First row, number of rows and checksum of each piece of these rows."""
    step = max(1, PIECE // (4 * max(1, stored.shape[1])))
    while start < end:
        # The last piece takes what would be too small for one of its own.
        count = step if end - start >= 2 * step else end - start
        yield start, count, checksum(stored[start : start + count])
        start += count


def note_appended(db: sqlite3.Connection, stored: Float32Array, committed: int) -> None:
    """Runs for the rows behind the committed ones; a small run before them is joined with them."""
    begin = committed
    for start, rows, digest in runs(db, "DESC LIMIT 1"):
        # What is damaged keeps the checksum that says so.
        if rows * stored.shape[1] * 4 < SMALLEST and checksum(stored[start:committed]) == digest:
            db.execute("DELETE FROM segments WHERE start = ?", (start,))
            begin = start
    db.executemany("INSERT INTO segments VALUES (?, ?, ?)", pieces(stored, begin, len(stored)))


def runs(db: sqlite3.Connection, order: str = "ASC") -> Iterator[tuple[int, int, str]]:
    """First row, number of rows and checksum of all runs."""
    for start, rows, digest in db.execute(
        f"SELECT start, rows, checksum FROM segments ORDER BY start {order}"
    ):
        if type(rows) is not int or rows < 1 or start < 0:
            raise Damaged(f"the catalogue's run of vectors from {start!r} on is none that foldwalk writes.")
        yield start, rows, digest
