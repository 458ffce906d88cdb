"""Sorted neighbour rows that take new entries and let go of removed ones."""

from __future__ import annotations

from numba import njit, prange

from foldwalk.core.types import BoolArray, Float32Array, Int32Array, IntArray
from foldwalk.neighbors.similarity import pair_similarity
from foldwalk.walk.select import comes_before


@njit(cache=True, parallel=True)
def keep_rows(
    ids: Int32Array,
    similarities: Float32Array,
    rows: IntArray,
    targets: IntArray,
    new_place: IntArray,
    new_ids: Int32Array,
    new_similarities: Float32Array,
    touched: BoolArray,
) -> None:
    """Copy each of `rows` to its target, without the items whose new place is -1, the others renamed."""
    for which in prange(rows.shape[0]):
        row, place, size = rows[which], targets[which], 0
        for column in range(ids.shape[1]):
            item = ids[row, column]
            if item < 0:
                break
            if new_place[item] < 0:
                touched[place] = True
                continue
            new_ids[place, size] = new_place[item]
            new_similarities[place, size] = similarities[row, column]
            size += 1
        for column in range(size, ids.shape[1]):
            new_ids[place, column] = -1
            new_similarities[place, column] = 0


@njit(cache=True, parallel=True)
def insert_columns(
    scores: Float32Array,
    floors: Float32Array,
    first_row: int,
    items: Int32Array,
    complete: BoolArray,
    vectors: Float32Array,
    cosine: bool,
    ids: Int32Array,
    similarities: Float32Array,
    touched: BoolArray,
) -> None:
    """Offer items[c] to row first_row + r wherever scores[r, c] reaches that row's floor.

    A row holds the nearest of all items, as many as it knows. An item that comes before its last one belongs
    there; one that does not could stand behind items the row has never heard of, and stays out, unless the
    row is complete: it knows everyone else.
    """
    width = ids.shape[1]
    for r in prange(scores.shape[0]):
        row = first_row + r
        size = 0
        while size < width and ids[row, size] >= 0:
            size += 1
        for c in range(scores.shape[1]):
            item = items[c]
            if scores[r, c] < floors[r] or item == row:
                continue
            value = pair_similarity(vectors[row], vectors[item], cosine)
            at_end = size == 0 or not comes_before(
                value, item, similarities[row, size - 1], ids[row, size - 1]
            )
            if at_end and (not complete[row] or size == width):
                continue
            place = min(size, width - 1)
            while place > 0 and comes_before(value, item, similarities[row, place - 1], ids[row, place - 1]):
                similarities[row, place] = similarities[row, place - 1]
                ids[row, place] = ids[row, place - 1]
                place -= 1
            similarities[row, place], ids[row, place] = value, item
            size = min(size + 1, width)
            touched[row] = True
