"""Rows of items and thumbnails: what came, what a record changes, each sealed by its checksum."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from foldwalk.stores.errors import Damaged
from foldwalk.stores.folder.checksums import is_sound, row_checksum, seal
from foldwalk.stores.types import Record

FILE = ("source", "size", "mtime", "digest")  # what is noted of the file an item was read from


@dataclass(frozen=True)
class Present:
    """An item whose key a record has; `file` is what is noted of its file."""

    number: int
    metadata: str
    file: tuple[Any, ...]
    same_vector: bool

    def relabelled(self, record: Record) -> bool:
        return record.metadata is not None and record.metadata != self.metadata

    def changes(self, record: Record) -> dict[str, Any]:
        """What the record tells that is not noted yet, if the vector stays."""
        file = of_file(record)
        changed = file if record.source is not None and tuple(file.values()) != self.file else {}
        return changed | ({"metadata": record.metadata} if self.relabelled(record) else {})


def of_file(record: Record) -> dict[str, Any]:
    return {name: getattr(record, name) for name in FILE}


def insert(
    db: sqlite3.Connection,
    number: int,
    row: int,
    records: Sequence[Record],
    replaced: Sequence[Present | None],
) -> None:
    """New items from this number and row on, each in place of the one it replaces."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    delete(db, [old.number for old in replaced if old is not None])
    items, thumbnails = [], []
    for place, (record, old) in enumerate(zip(records, replaced, strict=True)):
        metadata = record.metadata if record.metadata is not None else old.metadata if old else "{}"
        source, size, mtime, digest = of_file(record).values()
        items.append((number + place, record.key, row + place, metadata, source, size, mtime, now, digest))
        if record.thumbnail is not None:
            thumbnails.append((number + place, record.thumbnail))
    for table, rows in (("items", items), ("thumbnails", thumbnails)):
        for values in rows:
            places = ", ".join("?" * (len(values) + 1))
            db.execute(f"INSERT INTO {table} VALUES ({places})", (*values, row_checksum(*values)))


def delete(db: sqlite3.Connection, numbers: Sequence[int]) -> None:
    for table in ("items", "thumbnails"):
        db.executemany(f"DELETE FROM {table} WHERE number = ?", [(number,) for number in numbers])


def alter(db: sqlite3.Connection, number: int, changes: Mapping[str, Any]) -> None:
    """New values for some columns of an item."""
    if not is_sound(db, "items", number):
        (key,) = db.execute("SELECT key FROM items WHERE number = ?", (number,)).fetchone()
        raise Damaged(f"what the catalogue has of item {key!r} differs from its checksum; repair it first.")
    names = ", ".join(f"{name} = ?" for name in changes)
    db.execute(f"UPDATE items SET {names} WHERE number = ?", (*changes.values(), number))
    seal(db, "items", number)
