"""Changes: rows are appended and synced first, then one transaction makes them count."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from foldwalk.core.types import Float32Array
from foldwalk.stores.base import Writer
from foldwalk.stores.errors import unknown_key
from foldwalk.stores.folder.blocks import ROWS_AT_A_TIME, append, cut_leftovers, map_rows, next_block
from foldwalk.stores.folder.catalog import Catalog, State, transaction
from foldwalk.stores.types import Counts, Facts, Known, Record


class FolderWriter(Writer):
    """Works on the connection of `Catalog.writing`."""

    def __init__(self, catalog: Catalog, db: sqlite3.Connection) -> None:
        self.catalog, self.db = catalog, db

    def facts(self) -> Facts:
        return State.read(self.db).facts()

    def known(self, keys: Iterable[str]) -> dict[str, Known]:
        found = {key: self._one("size, mtime, metadata", key) for key in keys}
        return {key: Known(*row) for key, row in found.items() if row is not None}

    def put_items(self, rows: Float32Array, records: Sequence[Record], identity: str | None) -> Counts:
        db, state = self.db, State.read(self.db)
        known = self._present(state, rows, records)
        fresh = [i for i, old in enumerate(known) if old is None or not old.same_vector]
        written = rows if len(fresh) == len(rows) else rows[fresh]
        version, identity = state.version + 1, identity or state.identity
        changed = replace(state, version=version, dim=rows.shape[1], identity=identity)
        if fresh:
            digest = append(self.catalog.blocks / state.block, state.rows, written)
        with transaction(db):
            if fresh:
                _insert(db, state, fresh, records, known)
                db.execute("INSERT INTO segments VALUES (?, ?, ?)", (state.rows, len(fresh), digest))
                changed = replace(
                    changed,
                    rows=state.rows + len(fresh),
                    next_number=state.next_number + len(fresh),
                    vectors_version=version,
                )
            noted = [_note(db, old, record) for old, record in zip(known, records, strict=True)]
            if fresh or any(noted):
                changed.write(db)
        replaced = sum(old is not None and not old.same_vector for old in known) + sum(noted)
        added = sum(old is None for old in known)
        return Counts(added, replaced, len(records) - added - replaced)

    def relabel(self, metadata: Mapping[str, str]) -> None:
        if metadata:
            state = State.read(self.db)
            with transaction(self.db):
                texts = [(text, key) for key, text in metadata.items()]
                self.db.executemany("UPDATE items SET metadata = ? WHERE key = ?", texts)
                replace(state, version=state.version + 1).write(self.db)

    def drop_items(self, keys: Sequence[str]) -> int:
        db, numbers = self.db, []
        for key in keys:
            found = self._one("number", key)
            if found is None:
                raise unknown_key(key)
            numbers.append(found)
        state = State.read(db)
        with transaction(db):
            db.executemany("DELETE FROM items WHERE number = ?", numbers)
            db.executemany("DELETE FROM thumbnails WHERE number = ?", numbers)
            version = state.version + 1
            changed = replace(state, version=version, vectors_version=version)
            if not db.execute("SELECT 1 FROM items LIMIT 1").fetchone():
                # Empty again: vectors of another dimension may come. Readers may still look at the old file.
                db.execute("DELETE FROM segments")
                changed = replace(changed, block=next_block(state.block), rows=0, dim=None, identity=None)
            changed.write(db)
        return len(numbers)

    def compact(self) -> None:
        """Write the rows that count into a new file, in order, where removed ones left gaps."""
        db, state, blocks = self.db, State.read(self.db), self.catalog.blocks
        places = db.execute("SELECT number, row FROM items ORDER BY number").fetchall()
        if len(places) == state.rows or state.dim is None:
            return
        old = map_rows(blocks / state.block, state.rows, state.dim)
        block = next_block(state.block)
        segments, written = [], 0
        for start in range(0, len(places), ROWS_AT_A_TIME):
            part = old[[row for _, row in places[start : start + ROWS_AT_A_TIME]]]
            segments.append((written, len(part), append(blocks / block, written, part)))
            written += len(part)
        with transaction(db):
            # Rows are unique at every moment: first out of the way, then to their places.
            db.execute("UPDATE items SET row = -1 - row")
            new_rows = [(place, number) for place, (number, _) in enumerate(places)]
            db.executemany("UPDATE items SET row = ? WHERE number = ?", new_rows)
            db.execute("DELETE FROM segments")
            db.executemany("INSERT INTO segments VALUES (?, ?, ?)", segments)
            replace(state, version=state.version + 1, block=block, rows=written).write(db)
        cut_leftovers(blocks, block, written * state.dim * 4)

    def _present(self, state: State, rows: Float32Array, records: Sequence[Record]) -> list[_Present | None]:
        """For each record the item that has its key already."""
        stored = map_rows(self.catalog.blocks / state.block, state.rows, state.dim or rows.shape[1])
        found: list[_Present | None] = []
        for row, record in zip(rows, records, strict=True):
            old = self._one("number, row, metadata", record.key)
            same = old is not None and np.array_equal(stored[old[1]], row)
            found.append(None if old is None else _Present(old[0], old[2], same))
        return found

    def _one(self, columns: str, key: str) -> Any:
        return self.db.execute(f"SELECT {columns} FROM items WHERE key = ?", (key,)).fetchone()


@dataclass(frozen=True)
class _Present:
    number: int
    metadata: str
    same_vector: bool


def _insert(
    db: sqlite3.Connection,
    state: State,
    fresh: Sequence[int],
    records: Sequence[Record],
    known: Sequence[_Present | None],
) -> None:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    gone = [(old.number,) for old in (known[i] for i in fresh) if old is not None]
    db.executemany("DELETE FROM items WHERE number = ?", gone)
    db.executemany("DELETE FROM thumbnails WHERE number = ?", gone)
    items, thumbnails = [], []
    for place, i in enumerate(fresh):
        record, old, number = records[i], known[i], state.next_number + place
        metadata = record.metadata if record.metadata is not None else old.metadata if old else "{}"
        items.append(
            (number, record.key, state.rows + place, metadata, record.source, record.size, record.mtime, now)
        )
        if record.thumbnail is not None:
            thumbnails.append((number, record.thumbnail))
    db.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?)", items)
    db.executemany("INSERT INTO thumbnails VALUES (?, ?)", thumbnails)


def _note(db: sqlite3.Connection, old: _Present | None, record: Record) -> bool:
    """Bring an item whose vector stays up to date; True if its metadata changed."""
    if old is None or not old.same_vector:
        return False
    if record.source is not None:
        stat = (record.source, record.size, record.mtime, old.number)
        db.execute("UPDATE items SET source = ?, size = ?, mtime = ? WHERE number = ?", stat)
    if record.metadata is None or record.metadata == old.metadata:
        return False
    db.execute("UPDATE items SET metadata = ? WHERE number = ?", (record.metadata, old.number))
    return True
