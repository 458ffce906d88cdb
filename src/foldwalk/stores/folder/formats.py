"""Formats of the catalogue: which one is written, and the steps that lead to it from older ones.

A change of the tables raises FORMAT by one and adds the step from the number before: a function that brings
the tables of an open catalogue up to date. Steps run under the writer's lock, in one transaction with the new
number: stopped anywhere, the catalogue is as it was.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

FORMAT = 1
SCHEMA = """
CREATE TABLE state (
    version INTEGER NOT NULL, vectors_version INTEGER NOT NULL, next_number INTEGER NOT NULL,
    block TEXT NOT NULL, rows INTEGER NOT NULL, dim INTEGER, metric TEXT NOT NULL,
    backbone TEXT, identity TEXT, uid TEXT NOT NULL);
CREATE TABLE items (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, row INTEGER NOT NULL UNIQUE, metadata TEXT NOT NULL,
    source TEXT, size INTEGER, mtime INTEGER, added TEXT NOT NULL);
CREATE TABLE segments (start INTEGER PRIMARY KEY, rows INTEGER NOT NULL, checksum TEXT NOT NULL);
CREATE TABLE thumbnails (number INTEGER PRIMARY KEY, jpeg BLOB NOT NULL);
"""
# The step from each older format to the one after it.
STEPS: dict[int, Callable[[sqlite3.Connection], None]] = {}
