"""Lists of neighbours ordered by ranks given both ways: what the methods of ranking references share.

An item stands at place 0 of its own list, its nearest at place 1. Lists are followed to `depth` places, the
item itself counted. Rank normalisation orders the list of i by what i and j think of each other,

    "sum"   (depth - place of j for i) + (depth - place of i for j)
    "min"   the smaller of the two,

where who is not in a list adds nothing; ties keep the order the list had. The value is the same for both
sides, so an unseen query's place in a stored list follows from the values stored there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import njit, prange
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray
from foldwalk.rerank.order import Reached
from foldwalk.walk.csr import csr, parts
from foldwalk.walk.ranked import append_missing, places_in_rows

Combination = Literal["sum", "min"]


@dataclass(frozen=True, eq=False)
class RankedLists:
    """Row i lists others, best first, with the values that order them; rows end in ids of -1, value -inf."""

    ids: Int32Array
    values: Float32Array

    def first(self, k: int) -> RankedLists:
        return RankedLists(np.ascontiguousarray(self.ids[:, :k]), np.ascontiguousarray(self.values[:, :k]))

    def places_of(self, ids: Int32Array, values: Float32Array) -> Int32Array:
        """The place that each row's owner would get in the lists of `ids` with these values; 0: no id."""
        return places_in_rows(self.values, ids, values)

    def rows(self, weights: Float32Array, columns: int) -> sparse.csr_array:
        """The lists as sparse rows with the weights of their places."""
        return as_sparse(self.ids, np.broadcast_to(weights[: self.ids.shape[1]], self.ids.shape), columns)


def as_sparse(ids: Int32Array, weights: AnyArray, columns: int) -> sparse.csr_array:
    """Sparse rows with sorted columns; ids of -1 and weights of zero are left out."""
    rows = _unsorted(ids, weights, columns)
    rows.sort_indices()
    return rows


def _unsorted(ids: Int32Array, weights: AnyArray, columns: int) -> sparse.csr_array:
    keep = (ids >= 0) & (weights > 0)
    indptr = np.zeros(len(ids) + 1, np.int64)
    np.cumsum(keep.sum(axis=1), out=indptr[1:])
    return csr(indptr, ids[keep], weights[keep].astype(np.float32), columns)


def normalise_ranks(ids: Int32Array, combine: Combination) -> RankedLists:
    """The lists of all items, ordered by ranks both ways."""
    count, width = ids.shape
    places = np.broadcast_to(np.arange(1, width + 1, dtype=np.float32), ids.shape)
    holders = _unsorted(ids, places, count).T.tocsr()
    out = np.full_like(ids, -1)
    values = np.full(ids.shape, -np.inf, np.float32)
    _normalise(ids, *parts(holders), combine == "min", out, values)
    return RankedLists(out, values)


def normalise_new(ids: Int32Array, places: Int32Array, combine: Combination, depth: int) -> RankedLists:
    """The lists of unseen queries, given the places they would get in the lists of those they name."""
    own = np.broadcast_to(depth - 1 - np.arange(ids.shape[1]), ids.shape)
    other = np.maximum(depth - places, 0)
    if combine == "sum":
        values = own + other
    else:
        values = np.where(other > 0, np.minimum(own, other), own)
    known: Float32Array = np.where(ids >= 0, values, -np.inf).astype(np.float32)
    order = np.argsort(-known, axis=1, kind="stable")
    return RankedLists(np.take_along_axis(ids, order, 1), np.take_along_axis(known, order, 1))


def lists_of_new(stored: Neighbors, found: Neighbors) -> RankedLists:
    """The lists of unseen queries by "sum", from their neighbours and the lists of all items."""
    places = RankedLists(stored.ids, stored.similarities).places_of(found.ids, found.similarities)
    return normalise_new(found.ids, places, "sum", stored.k + 1)


def lists_from_scores(
    scores: sparse.csr_array,
    before: RankedLists,
    similarities_of: Callable[[IntArray, AnyArray], Float32Array],
    own: IntArray | None,
) -> RankedLists:
    """Lists as long as before, best score first, ties by similarity: the order of the items is no matter.

    Where fewer have a score, those follow that stood in the list before, with a value of zero.
    """
    k = before.ids.shape[1]
    items = scores.shape[1]
    best = Reached.from_sparse(scores, max(k, min(2 * k, items)), items, own)
    indptr = np.arange(len(best.ids) + 1) * best.ids.shape[1]
    pairs = np.maximum(best.ids.ravel(), 0)
    near = similarities_of(indptr, pairs).reshape(best.ids.shape)
    values = np.where(best.ids >= 0, best.scores, np.float32(-np.inf))
    order = np.lexsort((best.ids, -near, -values), axis=1)[:, :k]
    lists = RankedLists(np.take_along_axis(best.ids, order, 1), np.take_along_axis(values, order, 1))
    append_missing(lists.ids, lists.values, before.ids, np.zeros_like(before.values))
    return lists


def sorted_anew(lists: Int32Array, scores: sparse.csr_array) -> Int32Array:
    """Lists of items, best score first; equals, and those without a score, keep the order they had."""
    scores.sort_indices()
    listed = scores[np.arange(len(lists))[:, None], np.maximum(lists, 0)].toarray()
    values = np.where(lists >= 0, listed, np.float32(-np.inf))
    return np.take_along_axis(lists, np.argsort(-values, axis=1, kind="stable"), axis=1)


@njit(cache=True, parallel=True)
def _normalise(
    ids: Int32Array,
    indptr: IntArray,
    holders: Int32Array,
    holders_place: Float32Array,
    smaller: bool,
    out: Int32Array,
    values: Float32Array,
) -> None:
    count, width = ids.shape
    depth = width + 1
    chunks = 128
    for chunk in prange(chunks):
        first, last = chunk * count // chunks, (chunk + 1) * count // chunks
        if first == last:
            continue
        other = np.zeros(count, np.int32)
        both, ends = np.empty(width, np.int32), np.empty(2 * depth + 1, np.int32)
        for row in range(first, last):
            for entry in range(indptr[row], indptr[row + 1]):
                other[holders[entry]] = depth - int(holders_place[entry])
            # Sorted by counting, which keeps the order among equals: no value is above twice the depth.
            ends[:] = 0
            size = 0
            while size < width and ids[row, size] >= 0:
                own, back = depth - 1 - size, other[ids[row, size]]
                value = own + back
                if smaller:
                    value = min(own, back) if back > 0 else own
                both[size] = value
                ends[value] += 1
                size += 1
            end = size
            for value in range(2 * depth + 1):
                end -= ends[value]
                ends[value] = end  # the place of the first of this value
            for before in range(size):
                place = ends[both[before]]
                ends[both[before]] += 1
                out[row, place], values[row, place] = ids[row, before], both[before]
            for entry in range(indptr[row], indptr[row + 1]):
                other[holders[entry]] = 0
