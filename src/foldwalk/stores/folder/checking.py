"""Everything that has a checksum against it, step by step; each step tells what it found, mostly nothing.

Files are read, not mapped: where the disk fails, an error comes instead of the process's end.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from foldwalk.stores.errors import Damaged
from foldwalk.stores.folder.blocks import stored_checksum
from foldwalk.stores.folder.checksums import SEALED
from foldwalk.stores.folder.formats import has_checksums
from foldwalk.stores.folder.segments import runs
from foldwalk.stores.folder.state import State

ROWS_IN_A_STEP = 1000
_NAMED = {
    "items": ("key", "what the catalogue has of item {!r}"),
    "thumbnails": ("number", "the thumbnail of item number {!r}"),
    "roots": ("prefix", "the folder of the sources {!r}"),
}


def steps(db: sqlite3.Connection, index: Path) -> Iterator[list[str]]:
    """Of the vectors, the rows of the catalogue and the catalogue as a file."""
    try:
        state = State.read(db)
        yield from vector_steps(db, index, state)
        if has_checksums(state.format):
            for table in _NAMED:
                yield from row_steps(db, table)
        yield [f"the catalogue is damaged: {text}." for text in _faults(db)]
    except Damaged as error:
        yield [str(error)]
    except sqlite3.Error as error:
        yield [f"the catalogue cannot be read ({error})."]


def vector_steps(db: sqlite3.Connection, index: Path, state: State) -> Iterator[list[str]]:
    for start, rows, digest in list(runs(db)):
        if stored_checksum(index, state.block, start, rows, state.dim or 0) == digest:
            yield []
        elif State.read(db).block != state.block:  # it was compacted just now: what was read is gone
            return
        else:
            yield [f"vectors {start} to {start + rows - 1} in {state.block} differ from their checksum."]


def row_steps(db: sqlite3.Connection, table: str) -> Iterator[list[str]]:
    name, words = _NAMED[table]
    query = f"""SELECT rowid, {name}, checksum IS row_checksum({SEALED[table]}) FROM {table}
        WHERE rowid > ? ORDER BY rowid LIMIT {ROWS_IN_A_STEP}"""
    after = -(2**63)
    while found := db.execute(query, (after,)).fetchall():
        yield [f"{words.format(name)} differs from its checksum." for _, name, sound in found if not sound]
        after = found[-1][0]


def _faults(db: sqlite3.Connection) -> list[str]:
    """What SQLite finds wrong with its own file: indices that do not fit their tables, pages out of place."""
    return [" ".join(text.split()) for (text,) in db.execute("PRAGMA integrity_check(3)") if text != "ok"]
