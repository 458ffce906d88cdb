"""Everything in the folder against everything that is known of it. Nothing is changed.

Checksums of all vectors, counts and places, finite numbers of the right length, metadata, thumbnails.
"""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
from PIL import Image

from foldwalk.stores.errors import Damaged
from foldwalk.stores.folder.blocks import read_rows
from foldwalk.stores.folder.checking import steps
from foldwalk.stores.folder.connecting import FILE, connect
from foldwalk.stores.folder.errors import read_errors
from foldwalk.stores.folder.segments import runs
from foldwalk.stores.folder.state import State
from foldwalk.stores.metadata import metadata_of
from foldwalk.stores.types import Checked

UNIT_LENGTH = 1e-3  # what the length of a stored vector may differ from one


def verify(index: Path) -> Checked:
    """By a connection of its own, which sees one version throughout and lets others go on."""
    before = _block(index)
    while (checked := _verify(index)).problems and (now := _block(index)) != before:
        before = now  # a rebuild took away the file that was being read
    return checked


def _block(index: Path) -> str | None:
    """The file of the vectors at this moment; None where nobody knows."""
    try:
        with closing(connect(index, "ro")) as db:
            return State.read(db).block
    except (Damaged, sqlite3.Error):
        return None


def _verify(index: Path) -> Checked:
    with closing(connect(index, "ro")) as db, read_errors(index):
        db.execute("BEGIN")
        sealed = tuple(problem for found in steps(db, index) for problem in found)
        try:
            state = State.read(db)
            (items,) = db.execute("SELECT count(*) FROM items").fetchone()
            misplaced = tuple(_misplaced(db, state))
            told = (*misplaced, *_metadata_problems(db, state), *_run_problems(db, state))
            told += (*_thumbnail_problems(db),)
            counted = items, len(list(runs(db)))
        except Damaged as error:
            return Checked(0, 0, (*sealed, *({str(error)} - set(sealed))), readable=False)
        except sqlite3.Error as error:
            return Checked(0, 0, sealed or (f"the catalogue cannot be read ({error}).",), readable=False)
        try:
            told += (*_vector_problems(index, state),)
        except Damaged as error:
            return Checked(*counted, (*sealed, *told, str(error)), readable=False)
        size = (index / FILE).stat().st_size + state.rows * (state.dim or 0) * 4
        return Checked(*counted, (*sealed, *told), not misplaced, size)


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
            metadata_of(text, key)
        except Damaged as error:
            yield str(error)


def _run_problems(db: sqlite3.Connection, state: State) -> Iterator[str]:
    end = 0
    for start, rows, _ in runs(db):
        if start != end:
            yield f"vectors {end} to {start} belong to no committed run."
        end = start + rows
    if end != state.rows:
        yield f"the catalogue counts {state.rows} vectors, but its runs end at {end}."


def _vector_problems(index: Path, state: State) -> Iterator[str]:
    for start, part in read_rows(index, state.block, state.rows, state.dim or 0):
        if not np.isfinite(part).all():
            yield f"among vectors {start} to {start + len(part) - 1} a number is not finite."
        elif state.metric == "cosine":
            with np.errstate(over="ignore"):
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
