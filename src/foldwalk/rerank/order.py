"""The total order of a ranking: what the walk reached, then the rest by plain similarity, zero rows last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit, prange
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray, Scalar
from foldwalk.walk.csr import parts
from foldwalk.walk.select import offer, sort_heap

# Plain similarities lie in [-1, 1]; shifted by this they come after every reached item, whose score is > 0.
BEHIND = np.float32(3)


@dataclass(frozen=True, eq=False)
class Reached:
    """For each query the items that were reached, best first; rows end in ids of -1."""

    ids: Int32Array
    scores: Float32Array

    def rows(self, which: IntArray) -> Reached:
        return Reached(self.ids[which], self.scores[which])

    @classmethod
    def join(cls, blocks: list[Reached]) -> Reached:
        """Blocks of queries, one after the other."""
        return cls(np.concatenate([b.ids for b in blocks]), np.concatenate([b.scores for b in blocks]))

    @classmethod
    def from_dense(cls, scores: Float32Array, top: int, candidates: int, own: IntArray | None) -> Reached:
        """The `top` best of each dense row (q, n) with a score above zero, among the first `candidates`."""
        ids = np.full((len(scores), top), -1, np.int32)
        best = np.zeros((len(scores), top), np.float32)
        if top:
            _select_dense(scores, _nobody(own, len(scores)), candidates, ids, best)
        return cls(ids, best)

    @classmethod
    def from_sparse(
        cls, scores: sparse.csr_array, top: int, candidates: int, own: IntArray | None
    ) -> Reached:
        """The `top` best stored entries of each sparse row, among the first `candidates`."""
        ids = np.full((scores.shape[0], top), -1, np.int32)
        best = np.zeros((scores.shape[0], top), np.float32)
        if top:
            _select_sparse(*parts(scores), _nobody(own, len(ids)), candidates, ids, best)
        return cls(ids, best)


def _nobody(own: IntArray | None, count: int) -> IntArray:
    return np.full(count, -1) if own is None else own


@njit(cache=True, parallel=True)
def _select_dense(
    scores: Float32Array, own: IntArray, candidates: int, ids: Int32Array, best: Float32Array
) -> None:
    for row in prange(scores.shape[0]):
        size = 0
        for item in range(candidates):
            if scores[row, item] > 0 and item != own[row]:
                size = offer(best[row], ids[row], size, ids.shape[1], scores[row, item], item)
        sort_heap(best[row], ids[row], size)


@njit(cache=True, parallel=True)
def _select_sparse(
    indptr: AnyArray,
    indices: AnyArray,
    data: AnyArray,
    own: IntArray,
    candidates: int,
    ids: Int32Array,
    best: Float32Array,
) -> None:
    for row in prange(indptr.shape[0] - 1):
        size = 0
        for edge in range(indptr[row], indptr[row + 1]):
            item = indices[edge]
            if item < candidates and item != own[row]:
                size = offer(best[row], ids[row], size, ids.shape[1], data[edge], item)
        sort_heap(best[row], ids[row], size)


def complete(plain: Neighbors, own: IntArray | None, candidates: int) -> Neighbors:
    """Plain neighbours in which no place is empty: what has no direction follows by id, at similarity -1."""
    if not (plain.ids < 0).any():
        return plain
    ids, similarities = plain.ids.copy(), plain.similarities.copy()
    _complete(ids, similarities, _nobody(own, len(ids)), candidates)
    return Neighbors(ids, similarities, plain.metric, plain.recall, plain.how)


@njit(cache=True)
def _complete(ids: Int32Array, similarities: Float32Array, own: IntArray, candidates: int) -> None:
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
                similarities[row, place] = -1
                place += 1


def filled(
    reached: Reached, top: int, plain_of: Callable[[IntArray], Neighbors]
) -> tuple[IntArray, Float32Array]:
    """Reached items first; where they do not fill a row, the rest follows as `plain_of` such rows says."""
    width = min(top, reached.ids.shape[1])
    ids, scores = np.full((len(reached.ids), top), -1), np.zeros((len(reached.ids), top), np.float32)
    ids[:, :width], scores[:, :width] = reached.ids[:, :width], reached.scores[:, :width]
    short = np.flatnonzero((ids >= 0).sum(axis=1) < top)
    if len(short):
        ids[short], scores[short] = merge(reached.rows(short), plain_of(short), top)
    return ids, scores


def merge(reached: Reached, plain: Neighbors, top: int) -> tuple[IntArray, Float32Array]:
    """The first `top`: all that was reached, then the plain neighbours that were not."""
    ids = np.empty((len(plain), top), np.int64)
    scores = np.empty((len(plain), top), np.float32)
    _merge(reached.ids, reached.scores, plain.ids, plain.similarities, BEHIND, ids, scores)
    return ids, scores


@njit(cache=True)
def _merge(
    reached_ids: Int32Array,
    reached_scores: Float32Array,
    plain_ids: Int32Array,
    plain_similarities: Float32Array,
    behind: Scalar,
    ids: IntArray,
    scores: Float32Array,
) -> None:
    top = ids.shape[1]
    for row in range(ids.shape[0]):
        size = 0
        while size < top and size < reached_ids.shape[1] and reached_ids[row, size] >= 0:
            ids[row, size] = reached_ids[row, size]
            scores[row, size] = reached_scores[row, size]
            size += 1
        known = set(ids[row, :size])
        for place in range(plain_ids.shape[1]):
            if size == top:
                break
            item = plain_ids[row, place]
            if item >= 0 and np.int64(item) not in known:
                ids[row, size] = item
                scores[row, size] = plain_similarities[row, place] - behind
                size += 1
