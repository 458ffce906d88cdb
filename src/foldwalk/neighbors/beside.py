"""The nearest in one view of a gallery, found beside those in another.

What is near in one view is near in another or not far from it. Queries begin there, and a walk over the k-NN
lists of the view, always on to the nearest that was not visited, finds the rest: it looks at a few hundred
items, however many there are. Lists of a view that lies between two others are picked from theirs. Either way
an item may be missed; docs/auto.md has the shares that are found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numba
import numpy as np
from numba import njit, prange

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, Float32Array, Int32Array, Scalar
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors.exact import finish
from foldwalk.neighbors.recall import sampled_recall
from foldwalk.neighbors.similarity import pair_similarity
from foldwalk.walk.scratch import blank
from foldwalk.walk.select import comes_before

BESIDE = "beside"
BLOCK = 8192
STEPS = 12  # nearest of each visited item that are looked at
WIDTH = 80  # items that are kept on the way, at least


def nearest_beside(
    gallery: Vectors, graph: Neighbors, queries: Vectors, starts: Int32Array, k: int
) -> Neighbors:
    """The k nearest gallery items of each query, from `starts` (q, c) over `graph`; -1 is nobody."""
    width = max(k, WIDTH)
    ids = np.full((len(queries), width), -1, np.int32)
    similarities = np.zeros((len(queries), width), np.float32)
    marks = blank((min(numba.get_num_threads(), len(queries)), len(gallery)), 0, np.int8)
    cosine, steps = graph.metric == "cosine", min(STEPS, graph.k)
    _walk(queries.values, gallery.values, starts, graph.ids, steps, cosine, marks, ids, similarities)
    return Neighbors(ids, similarities, graph.metric, float("nan"), BESIDE).first(k)


def lists_beside(vectors: Vectors, others: Sequence[Neighbors], k: int) -> Neighbors:
    """The k nearest of every item among those that it has in other views."""
    own, nobody = np.arange(len(vectors)), np.zeros(0, np.int64)
    metric = others[0].metric
    ids, similarities = np.empty((len(own), k), np.int32), np.empty((len(own), k), np.float32)
    for first in range(0, len(own), BLOCK):
        rows = slice(first, first + BLOCK)
        listed = once([other.ids[rows] for other in others])
        asked = Vectors(vectors.values[rows])
        found = finish(vectors, asked, listed, k, metric, own[rows], nobody, float("nan"), BESIDE)
        ids[rows], similarities[rows] = found.ids, found.similarities
    lists = Neighbors(ids, similarities, metric, float("nan"), BESIDE)
    return replace(lists, recall=sampled_recall(lists, vectors))


def once(lists: Sequence[Int32Array]) -> Int32Array:
    """Whoever is in one of the lists (q, c), once; -1 for none."""
    every = np.sort(np.concatenate(lists, axis=1), axis=1)
    every[:, 1:][every[:, 1:] == every[:, :-1]] = -1
    return every


@njit(cache=True, parallel=True)
def _walk(
    queries: Float32Array,
    gallery: Float32Array,
    starts: Int32Array,
    graph: Int32Array,
    steps: int,
    cosine: bool,
    marks: AnyArray,
    ids: Int32Array,
    similarities: Float32Array,
) -> None:
    """`marks`, a row for each thread with a place for every item, is zero before and after."""
    threads, count, k = marks.shape[0], queries.shape[0], ids.shape[1]
    for thread in prange(threads):
        mark, touched = marks[thread], np.empty(gallery.shape[0], np.int32)
        visited = np.zeros(k, np.bool_)
        for q in range(thread * count // threads, (thread + 1) * count // threads):
            size = reached = 0
            here = -1  # the starts come before the first visit
            while here < size:
                if here >= 0 and visited[here]:
                    here += 1
                    continue
                around = starts[q] if here < 0 else graph[ids[q, here], :steps]
                if here >= 0:
                    visited[here] = True
                here += 1
                for item in around:
                    if item < 0 or item >= gallery.shape[0] or mark[item]:
                        continue
                    mark[item], touched[reached] = 1, item
                    reached += 1
                    value = pair_similarity(queries[q], gallery[item], cosine)
                    place = _put(similarities[q], ids[q], visited, size, value, item)
                    if place < k:
                        size, here = min(size + 1, k), min(here, place)
            for t in range(reached):
                mark[touched[t]] = 0


@njit()
def _put(values: AnyArray, items: AnyArray, visited: AnyArray, size: int, value: Scalar, item: Scalar) -> int:
    """Put an item into a list, best first, whose last one falls out where it is full; its place there."""
    place = size
    while place > 0 and comes_before(value, item, values[place - 1], items[place - 1]):
        place -= 1
    for later in range(min(size, len(items) - 1), place, -1):
        values[later], items[later], visited[later] = values[later - 1], items[later - 1], visited[later - 1]
    if place < len(items):
        values[place], items[place], visited[place] = value, item, False
    return place
