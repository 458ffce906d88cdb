"""Formats of the catalogue: the tables of the one that is written, and what differs in older ones.

A change of the tables raises FORMAT by one and adds the step from the number before to `upgrade`. Columns are
added at the end, as ALTER TABLE does it: a catalogue that was upgraded has the tables of a new one, letter by
letter.

1  state, items, segments, thumbnails
2  digests of source files, checksums of all rows, the folders that sources lie below; vectors are checksummed
   in pieces
"""

from __future__ import annotations

FORMAT = 2
_SCHEMAS = {
    1: """
CREATE TABLE state (
    version INTEGER NOT NULL, vectors_version INTEGER NOT NULL, next_number INTEGER NOT NULL,
    block TEXT NOT NULL, rows INTEGER NOT NULL, dim INTEGER, metric TEXT NOT NULL,
    backbone TEXT, identity TEXT, uid TEXT NOT NULL);
CREATE TABLE items (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, row INTEGER NOT NULL UNIQUE, metadata TEXT NOT NULL,
    source TEXT, size INTEGER, mtime INTEGER, added TEXT NOT NULL);
CREATE TABLE segments (start INTEGER PRIMARY KEY, rows INTEGER NOT NULL, checksum TEXT NOT NULL);
CREATE TABLE thumbnails (number INTEGER PRIMARY KEY, jpeg BLOB NOT NULL);
""",
    2: """
CREATE TABLE state (
    version INTEGER NOT NULL, vectors_version INTEGER NOT NULL, next_number INTEGER NOT NULL,
    block TEXT NOT NULL, rows INTEGER NOT NULL, dim INTEGER, metric TEXT NOT NULL,
    backbone TEXT, identity TEXT, uid TEXT NOT NULL, checksum INTEGER);
CREATE TABLE items (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, row INTEGER NOT NULL UNIQUE, metadata TEXT NOT NULL,
    source TEXT, size INTEGER, mtime INTEGER, added TEXT NOT NULL, digest TEXT, checksum INTEGER);
CREATE TABLE segments (start INTEGER PRIMARY KEY, rows INTEGER NOT NULL, checksum TEXT NOT NULL);
CREATE TABLE thumbnails (number INTEGER PRIMARY KEY, jpeg BLOB NOT NULL, checksum INTEGER);
CREATE TABLE roots (prefix TEXT PRIMARY KEY NOT NULL, folder TEXT NOT NULL, checksum INTEGER);
""",
}
SCHEMA = _SCHEMAS[FORMAT]


def tables(format: int) -> dict[str, str]:
    """The text that made each table of a format, with single spaces."""
    texts = [" ".join(text.split()) for text in _SCHEMAS[format].split(";") if text.strip()]
    return {text.split()[2]: text for text in texts}


def has_checksums(format: int) -> bool:
    """Whether rows are sealed, sources have digests and roots are noted."""
    return format >= 2


def digest_column(format: int) -> str:
    return "digest" if has_checksums(format) else "NULL"
