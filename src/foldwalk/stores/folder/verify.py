"""Everything in the folder against everything that is known of it. Nothing is changed.

Checksums of all vectors, counts and places, finite numbers of the right length, metadata, thumbnails.
"""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Iterator

import numpy as np
from PIL import Image

from foldwalk.core.json_text import read_json
from foldwalk.core.types import Float32Array
from foldwalk.stores.errors import Damaged
from foldwalk.stores.folder.blocks import ROWS_AT_A_TIME, checksum, map_rows
from foldwalk.stores.folder.catalog import Catalog, State
from foldwalk.stores.types import Checked

UNIT_LENGTH = 1e-3  # what the length of a stored vector may differ from one


def verify(catalog: Catalog) -> Checked:
    with catalog.reading() as db:
        broken = [text for (text,) in db.execute("PRAGMA quick_check") if text != "ok"]
        (items,) = db.execute("SELECT count(*) FROM items").fetchone()
        (runs,) = db.execute("SELECT count(*) FROM segments").fetchone()
        if broken:
            return Checked(items, runs, (f"the catalogue is damaged: {broken[0]}.",), readable=False)
        state = State.read(db)
        misplaced = tuple(_misplaced(db, state))
        problems = (*misplaced, *_metadata_problems(db, state))
        try:
            stored = map_rows(catalog.blocks / state.block, state.rows, state.dim or 0)
        except Damaged as error:
            return Checked(items, runs, (*problems, str(error)), readable=False)
        problems += (
            *_segment_problems(db, state, stored),
            *_vector_problems(state, stored),
            *_thumbnail_problems(db),
        )
    return Checked(items, runs, problems, readable=not misplaced)


def _misplaced(db: sqlite3.Connection, state: State) -> Iterator[str]:
    outside = db.execute("SELECT key FROM items WHERE row < 0 OR row >= ?", (state.rows,)).fetchone()
    if outside:
        yield f"item {outside[0]!r} points behind the last vector."


def _metadata_problems(db: sqlite3.Connection, state: State) -> Iterator[str]:
    late = db.execute("SELECT key FROM items WHERE number >= ?", (state.next_number,)).fetchone()
    if late:
        yield f"item {late[0]!r} has a number that was never given."
    for key, text in db.execute("SELECT key, metadata FROM items WHERE metadata != '{}'"):
        try:
            if not isinstance(read_json(text, "it"), dict):
                yield f"the metadata of {key!r} is not a dictionary."
        except ValueError:
            yield f"the metadata of {key!r} is not JSON."


def _segment_problems(db: sqlite3.Connection, state: State, stored: Float32Array) -> Iterator[str]:
    end = 0
    for start, rows, digest in db.execute("SELECT start, rows, checksum FROM segments ORDER BY start"):
        if start != end:
            yield f"vectors {end} to {start} belong to no committed run."
        end = start + rows
        if checksum(stored[start:end]) != digest:
            yield f"vectors {start} to {end - 1} in {state.block} differ from their checksum."
    if end != state.rows:
        yield f"the catalogue counts {state.rows} vectors, but its runs end at {end}."


def _vector_problems(state: State, stored: Float32Array) -> Iterator[str]:
    for start in range(0, len(stored), ROWS_AT_A_TIME):
        part = stored[start : start + ROWS_AT_A_TIME]
        if not np.isfinite(part).all():
            yield f"among vectors {start} to {start + len(part) - 1} a number is not finite."
        elif state.metric == "cosine":
            lengths = np.linalg.norm(part, axis=1)
            if ((np.abs(lengths - 1) > UNIT_LENGTH) & (lengths > 0)).any():
                yield f"among vectors {start} to {start + len(part) - 1} a length is not one."


def _thumbnail_problems(db: sqlite3.Connection) -> Iterator[str]:
    stray = "SELECT count(*) FROM thumbnails WHERE number NOT IN (SELECT number FROM items)"
    (strays,) = db.execute(stray).fetchone()
    if strays:
        yield f"{strays} thumbnails belong to no item."
    for key, jpeg in db.execute("SELECT key, jpeg FROM thumbnails JOIN items USING (number)"):
        try:
            with Image.open(io.BytesIO(jpeg), formats=("JPEG",)) as picture:
                picture.load()
        except Exception:  # broken bytes lead the decoder to errors of any kind
            yield f"the thumbnail of {key!r} cannot be decoded."
