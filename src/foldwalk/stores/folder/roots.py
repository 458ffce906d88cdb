"""The folders that sources lie below, by the prefix that their keys have."""

from __future__ import annotations

import sqlite3

from foldwalk.stores.folder.formats import has_checksums
from foldwalk.stores.folder.state import State


def read_roots(db: sqlite3.Connection, state: State) -> dict[str, str]:
    if not has_checksums(state.format):
        return {}
    return dict(db.execute("SELECT prefix, folder FROM roots ORDER BY prefix"))
