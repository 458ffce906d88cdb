"""Checksums of the catalogue's rows, within SQL as `row_checksum(...)`: what a disk turns over is found.

They tell accidents, not forgers. A row is sealed when it is written, and looked at before it is altered, so
that no damage is sealed anew.
"""

from __future__ import annotations

import sqlite3
from hashlib import blake2b

Value = str | bytes | int | float | None

# What the checksum of a row is over: everything that it tells.
SEALED = {
    "state": "version, vectors_version, next_number, block, rows, dim, metric, backbone, identity, uid",
    "items": "number, key, row, metadata, source, size, mtime, added, digest",
    "thumbnails": "number, jpeg",
    "roots": "prefix, folder",
}

_KINDS = {kind: kind.__name__.encode() for kind in (str, bytes, int, float, type(None))}


def row_checksum(*values: Value) -> int:
    """64 bits of all values, their types and their order, as SQLite's whole number."""
    parts: list[bytes] = []
    for value in values:
        content = value if isinstance(value, bytes) else str(value).encode()
        parts += (b"%s %d " % (_KINDS[type(value)], len(content)), content)
    return int.from_bytes(blake2b(b"".join(parts), digest_size=8).digest(), "big", signed=True)


def teach(db: sqlite3.Connection) -> None:
    """Let a connection compute checksums."""
    db.create_function("row_checksum", -1, row_checksum, deterministic=True)


def seal(db: sqlite3.Connection, table: str, number: int | None = None) -> None:
    """Checksums for all rows of a table, or for the one with this number."""
    every = f"UPDATE {table} SET checksum = row_checksum({SEALED[table]})"
    if number is None:
        db.execute(every)
    else:
        db.execute(f"{every} WHERE number = ?", (number,))


def is_sound(db: sqlite3.Connection, table: str, number: int) -> bool:
    """Whether a row is the one that was sealed."""
    query = f"SELECT checksum IS row_checksum({SEALED[table]}) FROM {table} WHERE number = ?"
    return bool(db.execute(query, (number,)).fetchone()[0])
