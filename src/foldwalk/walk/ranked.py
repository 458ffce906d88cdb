"""Rows of ids with values, best first, that end in ids of -1: chosen, looked up, and filled."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray
from foldwalk.walk.select import offer, sort_heap


@njit(cache=True, parallel=True)
def best_of_dense(
    scores: Float32Array, own: IntArray, candidates: int, ids: Int32Array, best: Float32Array
) -> None:
    """The best of each dense row above zero, among the first `candidates`, without column own[row]."""
    for row in prange(scores.shape[0]):
        size = 0
        for item in range(candidates):
            if scores[row, item] > 0 and item != own[row]:
                size = offer(best[row], ids[row], size, ids.shape[1], scores[row, item], item)
        sort_heap(best[row], ids[row], size)


@njit(cache=True, parallel=True)
def best_of_sparse(
    indptr: AnyArray,
    indices: AnyArray,
    data: AnyArray,
    own: IntArray,
    candidates: int,
    ids: Int32Array,
    best: Float32Array,
) -> None:
    """The same of the stored entries of sparse rows, whatever their sign."""
    for row in prange(indptr.shape[0] - 1):
        size = 0
        for edge in range(indptr[row], indptr[row + 1]):
            item = indices[edge]
            if item < candidates and item != own[row]:
                size = offer(best[row], ids[row], size, ids.shape[1], data[edge], item)
        sort_heap(best[row], ids[row], size)


@njit(cache=True)
def append_missing(
    ids: Int32Array, values: Float32Array, more_ids: Int32Array, more_values: Float32Array
) -> None:
    """Fill the empty ends of rows with those of `more` that they do not list yet."""
    width = ids.shape[1]
    for row in range(ids.shape[0]):
        size = 0
        while size < width and ids[row, size] >= 0:
            size += 1
        if size == width:
            continue
        listed = set(ids[row, :size])
        for place in range(more_ids.shape[1]):
            item = more_ids[row, place]
            if size < width and item >= 0 and item not in listed:
                ids[row, size], values[row, size] = item, more_values[row, place]
                size += 1


@njit(cache=True)
def append_unlisted(ids: Int32Array, values: Float32Array, own: IntArray, candidates: int) -> None:
    """Fill the empty ends of rows with the candidates that are not listed, by id, with a value of -1."""
    taken = np.full(candidates, -1, np.int64)
    for row in range(ids.shape[0]):
        place = 0
        while place < ids.shape[1] and ids[row, place] >= 0:
            taken[ids[row, place]] = row
            place += 1
        for item in range(candidates):
            if place == ids.shape[1]:
                break
            if taken[item] != row and item != own[row]:
                ids[row, place] = item
                values[row, place] = -1
                place += 1


@njit(cache=True, parallel=True)
def places_in_rows(stored: Float32Array, ids: Int32Array, values: Float32Array) -> AnyArray:
    """The place, from one, of each value in the falling row of `stored` that its id names; 0: no id."""
    places = np.zeros(ids.shape, np.int32)
    for row in prange(ids.shape[0]):
        for column in range(ids.shape[1]):
            item = ids[row, column]
            if item < 0:
                continue
            low, high = 0, stored.shape[1]
            while low < high:
                middle = (low + high) // 2
                if stored[item, middle] > values[row, column]:
                    low = middle + 1
                else:
                    high = middle
            places[row, column] = low + 1
    return places
