"""Nothing but the folder store knows of SQL."""

from __future__ import annotations

import re
from pathlib import Path

import foldwalk

PACKAGE = Path(foldwalk.__file__).parent


def test_only_the_folder_store_speaks_sql():
    speaks = re.compile(r"\bsqlite3\b|\bSELECT \w|\bINSERT INTO\b|\bDELETE FROM\b")
    found = {
        path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if speaks.search(path.read_text("utf-8"))
    }
    assert found
    assert all(path.parts[:2] == ("stores", "folder") for path in found), sorted(found)
