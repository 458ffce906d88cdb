"""What came of a change that failed: looked at, and settled, before it is said."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from foldwalk.core.errors import FoldwalkError
from foldwalk.stores.folder.connecting import connect
from foldwalk.stores.folder.state import State


def outcome(index: Path, before: int, after: int | None) -> str:
    """By the version before the change and the one it would have made; None for a change that makes none.

    Under the writer's lock.
    """
    unknown = "whether the change is there cannot be told; look again with  foldwalk info"
    try:
        with closing(connect(index, "rw")) as db:
            found = State.read(db)
            # A commit whose sync failed may lie in the log, unseen, and come back when the log is read anew.
            # Whatever is committed next takes its place.
            db.execute("PRAGMA synchronous = FULL")
            db.execute(f"PRAGMA user_version = {found.format}")
    except (FoldwalkError, OSError, sqlite3.Error):
        return unknown
    if found.version == after:
        return "the change is there"
    return "nothing changed" if after is not None and found.version == before else unknown
