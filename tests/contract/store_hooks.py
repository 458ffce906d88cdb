"""How the contract makes an empty store of each kind, and one whose format is newer than foldwalk knows.

A store that is added gets a line here; where it needs a server, `address` skips the test with the reason.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from memory_store import KEPT, MemoryStore

from foldwalk.stores import Record, Store
from foldwalk.stores.registry import names, store_class
from samples import clustered


class Hook(NamedTuple):
    address: Callable[[Path], str]
    make_newer: Callable[[str], None]


def _newer_folder(url: str) -> None:
    db = sqlite3.connect(Path(url) / "catalog.db")
    db.execute("PRAGMA user_version = 1000")
    db.close()


def _newer_memory(url: str) -> None:
    KEPT[url].facts = replace(KEPT[url].facts, format=1000)


HOOKS = {
    "folder": Hook(lambda folder: str(folder / "x.fold"), _newer_folder),
    "memory": Hook(lambda folder: f"memory:/{folder}", _newer_memory),
}
# What is registered, and the least a store can be: it shows that what is built on the rest is right.
CLASSES: dict[str, type[Store]] = {**{name: store_class(name) for name in names()}, "memory": MemoryStore}

VECTORS = clustered(n=60, d=8)[0]
KEYS = [f"a{i}" for i in range(60)]


def records(keys=KEYS, **fields):
    return [Record(key, **fields) for key in keys]


def labelled(keys=KEYS):
    """Even ones are of kind x, every third has a year."""
    texts = [
        json.dumps({"kind": "xy"[i % 2]} | ({"year": 1990 + i} if i % 3 == 0 else {})) for i in range(60)
    ]
    return [Record(key, text) for key, text in zip(keys, texts, strict=True)]
