"""The total order of a ranking: what the walk reached, then the rest by plain similarity, zero rows last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import Float32Array, Int32Array, IntArray
from foldwalk.walk.csr import parts
from foldwalk.walk.ranked import append_missing, append_unlisted, best_of_dense, best_of_sparse

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
            best_of_dense(scores, _nobody(own, len(scores)), candidates, ids, best)
        return cls(ids, best)

    @classmethod
    def from_sparse(
        cls, scores: sparse.csr_array, top: int, candidates: int, own: IntArray | None
    ) -> Reached:
        """The `top` best stored entries of each sparse row, among the first `candidates`."""
        ids = np.full((scores.shape[0], top), -1, np.int32)
        best = np.zeros((scores.shape[0], top), np.float32)
        if top:
            best_of_sparse(*parts(scores), _nobody(own, len(ids)), candidates, ids, best)
        return cls(ids, best)


def _nobody(own: IntArray | None, count: int) -> IntArray:
    return np.full(count, -1) if own is None else own


def complete(plain: Neighbors, own: IntArray | None, candidates: int) -> Neighbors:
    """Plain neighbours in which no place is empty: what has no direction follows by id, at similarity -1."""
    if not (plain.ids < 0).any():
        return plain
    ids, similarities = plain.ids.copy(), plain.similarities.copy()
    append_unlisted(ids, similarities, _nobody(own, len(ids)), candidates)
    return Neighbors(ids, similarities, plain.metric, plain.recall, plain.how)


def filled(
    reached: Reached, top: int, plain_of: Callable[[IntArray], Neighbors]
) -> tuple[IntArray, Float32Array]:
    """Reached items first; where they do not fill a row, the rest follows as `plain_of` such rows says."""
    width, shape = min(top, reached.ids.shape[1]), (len(reached.ids), top)
    ids, scores = np.full(shape, -1, np.int32), np.zeros(shape, np.float32)
    ids[:, :width], scores[:, :width] = reached.ids[:, :width], reached.scores[:, :width]
    short = np.flatnonzero((ids >= 0).sum(axis=1) < top)
    if len(short):
        plain, some, their = plain_of(short), ids[short], scores[short]
        append_missing(some, their, plain.ids, plain.similarities - BEHIND)
        ids[short], scores[short] = some, their
    return ids.astype(np.int64), scores
