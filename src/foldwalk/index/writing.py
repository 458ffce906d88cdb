"""Changes: rows are appended and synced first, then one transaction makes them count."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from foldwalk.core.errors import BadInput
from foldwalk.core.types import Float32Array
from foldwalk.core.vectors import Vectors
from foldwalk.index.blocks import append, cut_leftovers, map_rows, next_block
from foldwalk.index.catalog import Catalog, State, transaction, unknown_key
from foldwalk.index.checks import check_keys, metadata_texts
from foldwalk.index.types import AddReport
from foldwalk.neighbors import prepare


@dataclass(frozen=True)
class Record:
    """What is noted of an item beside its vector; metadata of None keeps what is there."""

    key: str
    metadata: str | None = None
    source: str | None = None
    size: int | None = None
    mtime: int | None = None
    thumbnail: bytes | None = None


def add_vectors(
    catalog: Catalog,
    array: npt.ArrayLike,
    keys: Sequence[str] | None,
    metadata: Mapping[str, Mapping[str, Any]] | None,
) -> AddReport:
    with catalog.writing() as db:
        state = State.read(db)
        vectors = Vectors.check(array, dim=state.dim)
        named = _numbered(db, state, len(vectors)) if keys is None else check_keys(keys)
        if len(named) != len(vectors):
            raise BadInput(f"there are {len(vectors)} vectors, but {len(named)} keys.")
        texts = metadata_texts(named, metadata)
        records = [Record(key, text) for key, text in zip(named, texts, strict=True)]
        return store(catalog, db, vectors, records)


def _numbered(db: sqlite3.Connection, state: State, count: int) -> list[str]:
    """Keys for vectors that came without: the numbers the items will have."""
    keys = [str(state.next_number + i) for i in range(count)]
    for key in keys:
        if db.execute("SELECT 1 FROM items WHERE key = ?", (key,)).fetchone():
            raise BadInput(f"key {key!r} would be the next number, but it is taken; hand in keys.")
    return keys


def store(
    catalog: Catalog,
    db: sqlite3.Connection,
    vectors: Vectors,
    records: Sequence[Record],
    identity: str | None = None,
) -> AddReport:
    """One change: every record with its vector, new, replaced or found unchanged."""
    state = State.read(db)
    rows = prepare(vectors, state.metric).values
    known = _known(catalog, db, state, rows, records)
    fresh = [i for i, old in enumerate(known) if old is None or not old.same_vector]
    written = rows if len(fresh) == len(rows) else rows[fresh]
    version, identity = state.version + 1, identity or state.identity
    changed = replace(state, version=version, dim=rows.shape[1], identity=identity)
    if fresh:
        digest = append(catalog.blocks / state.block, state.rows, written)
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
    return AddReport(added, replaced, len(records) - added - replaced)


@dataclass(frozen=True)
class _Known:
    number: int
    metadata: str
    added: str
    same_vector: bool


def _known(
    catalog: Catalog, db: sqlite3.Connection, state: State, rows: Float32Array, records: Sequence[Record]
) -> list[_Known | None]:
    """For each record the item that has its key already."""
    stored = map_rows(catalog.blocks / state.block, state.rows, state.dim or rows.shape[1])
    found: list[_Known | None] = []
    for row, record in zip(rows, records, strict=True):
        query = "SELECT number, row, metadata, added FROM items WHERE key = ?"
        old = db.execute(query, (record.key,)).fetchone()
        same = old is not None and np.array_equal(stored[old[1]], row)
        found.append(None if old is None else _Known(old[0], old[2], old[3], same))
    return found


def _insert(
    db: sqlite3.Connection,
    state: State,
    fresh: Sequence[int],
    records: Sequence[Record],
    known: Sequence[_Known | None],
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


def _note(db: sqlite3.Connection, old: _Known | None, record: Record) -> bool:
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


def relabel(db: sqlite3.Connection, metadata: Sequence[tuple[str | None, int]]) -> None:
    """One change: new metadata for items, as (JSON, number)."""
    if metadata:
        state = State.read(db)
        with transaction(db):
            db.executemany("UPDATE items SET metadata = ? WHERE number = ?", metadata)
            replace(state, version=state.version + 1).write(db)


def remove(catalog: Catalog, keys: Iterable[str]) -> int:
    """One change: all of these items go, or none."""
    named = check_keys(keys)
    with catalog.writing() as db:
        numbers = []
        for key in named:
            found = db.execute("SELECT number FROM items WHERE key = ?", (key,)).fetchone()
            if found is None:
                raise unknown_key(key)
            numbers.append(found)
        if not numbers:
            return 0
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


def compact(catalog: Catalog) -> None:
    """Write the rows that count into a new file, in order, where removed ones left gaps."""
    with catalog.writing() as db:
        state = State.read(db)
        places = db.execute("SELECT number, row FROM items ORDER BY number").fetchall()
        if len(places) == state.rows or state.dim is None:
            return
        old = map_rows(catalog.blocks / state.block, state.rows, state.dim)
        block = next_block(state.block)
        segments, written = [], 0
        for start in range(0, len(places), 16_384):
            part = old[[row for _, row in places[start : start + 16_384]]]
            segments.append((written, len(part), append(catalog.blocks / block, written, part)))
            written += len(part)
        with transaction(db):
            # Rows are unique at every moment: first out of the way, then to their places.
            db.execute("UPDATE items SET row = -1 - row")
            new_rows = [(place, number) for place, (number, _) in enumerate(places)]
            db.executemany("UPDATE items SET row = ? WHERE number = ?", new_rows)
            db.execute("DELETE FROM segments")
            db.executemany("INSERT INTO segments VALUES (?, ?, ?)", segments)
            replace(state, version=state.version + 1, block=block, rows=written).write(db)
        cut_leftovers(catalog.blocks, block, written * state.dim * 4)
