"""Everything on disk against everything that is known of it. Nothing is changed.

Checksums of all vectors, counts and places, finite numbers of the right length, metadata, thumbnails, and the
k-NN graph: brought up to date in memory, with sampled rows searched exactly.
"""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
from PIL import Image

from foldwalk.core.types import Float32Array
from foldwalk.core.vectors import Vectors
from foldwalk.index.blocks import checksum, map_rows
from foldwalk.index.catalog import Catalog, State
from foldwalk.index.errors import Damaged
from foldwalk.index.graph_file import GraphFile
from foldwalk.index.knn import KnnGraph
from foldwalk.index.recall import GOOD_RECALL, sampled_recall
from foldwalk.index.types import Verification
from foldwalk.neighbors.similarity import pair_similarities

UNIT_LENGTH = 1e-3  # what the length of a stored vector may differ from one
SAMPLED_ROWS = 200


def verify(folder: Path) -> Verification:
    """By a connection of its own, so that searches need not wait."""
    items = blocks = 0
    try:
        with closing(Catalog.open(folder)) as catalog, catalog.reading() as db:
            (items,) = db.execute("SELECT count(*) FROM items").fetchone()
            (blocks,) = db.execute("SELECT count(*) FROM segments").fetchone()
            problems = tuple(_problems(catalog, db, State.read(db)))
    except Damaged as error:
        problems = (str(error),)
    return Verification(not problems, items, blocks, problems)


def _problems(catalog: Catalog, db: sqlite3.Connection, state: State) -> Iterator[str]:
    broken = [text for (text,) in db.execute("PRAGMA quick_check") if text != "ok"]
    if broken:
        yield f"the catalogue is damaged: {broken[0]}."
        return
    yield from _catalog_problems(db, state)
    try:
        stored = map_rows(catalog.blocks / state.block, state.rows, state.dim or 0)
    except Damaged as error:
        yield str(error)
        return
    yield from _segment_problems(db, state, stored)
    yield from _vector_problems(state, stored)
    yield from _thumbnail_problems(db)
    places = db.execute("SELECT number, row FROM items ORDER BY number").fetchall()
    if all(0 <= row < state.rows for _, row in places):
        numbers = np.array([number for number, _ in places], np.int64)
        rows = stored[[row for _, row in places]] if len(places) < state.rows else stored
        yield from _graph_problems(catalog, state, numbers, rows)


def _catalog_problems(db: sqlite3.Connection, state: State) -> Iterator[str]:
    outside = db.execute("SELECT key FROM items WHERE row < 0 OR row >= ?", (state.rows,)).fetchone()
    if outside:
        yield f"item {outside[0]!r} points behind the last vector."
    late = db.execute("SELECT key FROM items WHERE number >= ?", (state.next_number,)).fetchone()
    if late:
        yield f"item {late[0]!r} has a number that was never given."
    for key, text in db.execute("SELECT key, metadata FROM items WHERE metadata != '{}'"):
        try:
            if not isinstance(json.loads(text), dict):
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
    for start in range(0, len(stored), 16_384):
        part = stored[start : start + 16_384]
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


def _graph_problems(catalog: Catalog, state: State, numbers: np.ndarray, rows: Float32Array) -> Iterator[str]:
    files = GraphFile(catalog.derived, state.uid)
    saved = files.load()
    if saved is None:
        if files.version() is not None:
            yield "the saved graph is damaged; delete the folder derived, it is made again."
        return
    vectors = Vectors(rows)
    graph = KnnGraph.current(saved, vectors, numbers, state.metric)
    sample = np.arange(0, len(graph), max(1, len(graph) // SAMPLED_ROWS))
    listed = graph.ids[sample]
    known = listed >= 0
    indptr = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    true = pair_similarities(rows[sample], rows, indptr, listed[known], state.metric == "cosine")
    if not np.allclose(true, graph.similarities[sample][known], atol=1e-5):
        yield "similarities in the saved graph are not those of its items; delete the folder derived."
    elif sampled_recall(graph, vectors, state.metric) < GOOD_RECALL - 0.07:
        yield "the saved graph misses many true neighbours; rebuild the index."
