"""Vectors without the gaps that removed items left."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from itertools import chain
from pathlib import Path

from foldwalk.stores.folder.blocks import ROWS_AT_A_TIME, append, map_rows, next_block
from foldwalk.stores.folder.checking import row_steps, vector_steps
from foldwalk.stores.folder.checksums import seal
from foldwalk.stores.folder.errors import damaged
from foldwalk.stores.folder.reading import places
from foldwalk.stores.folder.segments import pieces
from foldwalk.stores.folder.state import State


def compact(db: sqlite3.Connection, index: Path, changed: State) -> State:
    """The rows that count in a new file, in order; within a transaction of the present format.

    What is damaged is not copied, for the copy would be sealed anew.
    """
    dim = changed.dim or 0
    old = map_rows(index, changed.block, changed.rows, dim)
    for problem in chain.from_iterable((*vector_steps(db, index, changed), *row_steps(db, "items"))):
        raise damaged(index, problem)
    items = db.execute("SELECT number, row FROM items ORDER BY number").fetchall()
    block, written = next_block(changed.block), 0
    for start in range(0, len(items), ROWS_AT_A_TIME):
        wanted = (row for _, row in items[start : start + ROWS_AT_A_TIME])
        part = old[places(wanted, changed.rows)]
        append(index, block, written, part)
        written += len(part)
    # Rows are unique at every moment: first out of the way, then to their places.
    db.execute("UPDATE items SET row = -1 - row")
    new_rows = [(place, number) for place, (number, _) in enumerate(items)]
    db.executemany("UPDATE items SET row = ? WHERE number = ?", new_rows)
    seal(db, "items")
    db.execute("DELETE FROM segments")
    stored = map_rows(index, block, written, dim)
    db.executemany("INSERT INTO segments VALUES (?, ?, ?)", pieces(stored, 0, written))
    compacted = replace(changed, block=block, rows=written)
    compacted.write(db)
    return compacted
