"""Tiny pictures on the disk, and an index of them as an earlier foldwalk wrote it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
from PIL import Image


def draw(path: Path, seed: int, side: int = 4) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    values = np.random.default_rng(seed).integers(0, 255, (4, 4, 3), dtype=np.uint8)
    Image.fromarray(values).resize((side, side), Image.Resampling.NEAREST).save(path)
    return path


def as_of_format_1(index: Path) -> None:
    """Without folders, digests and checksums of rows; the index must not be open."""
    added = [("items", "digest"), *((table, "checksum") for table in ("items", "thumbnails", "state"))]
    with closing(sqlite3.connect(index / "catalog.db")) as db:
        db.execute("DROP TABLE roots")
        for table, column in added:
            db.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        db.execute("PRAGMA user_version = 1")
        db.commit()
