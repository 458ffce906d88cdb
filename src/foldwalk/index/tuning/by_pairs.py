"""Candidates judged by pairs that a person marked as the same or as different.

The place of a pair is that of each in the other's ranking, added. The figure is how often a pair marked same
has a better place than one marked different (the area under the ROC curve); every pair has the share of
pairs of the other kind that it stands on the right side of, a tie counting half, among those of its own fold.
Pairs that share a picture are held out together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from foldwalk.core.errors import BadInput, UnknownName
from foldwalk.core.seeds import generator
from foldwalk.core.types import Float64Array, IntArray
from foldwalk.index.tuning.folds import MOST_FOLDS, dealt

MOST_PAIRS = 1_000
FIRST = 10


class Pair(NamedTuple):
    """Two keys; `line` is where they were read, for messages."""

    one: str
    other: str
    same: bool
    line: int = 0


class ByPairs:
    """A value belongs to each pair; `rows` are the items that occur in one."""

    figures = ("AUC", f"R@{FIRST}")
    group, item = "groups of pairs", "pairs"

    def __init__(self, pairs: Iterable[Pair], positions: Mapping[str, int]) -> None:
        ends, self.same = _checked(list(pairs), positions)
        draw = generator(0, "tune")
        if len(ends) > MOST_PAIRS:
            some = np.sort(draw.choice(len(ends), MOST_PAIRS, replace=False))
            ends, self.same = ends[some], self.same[some]
        self._ends = ends
        self.rows, places = np.unique(ends, return_inverse=True)
        self._places = places.reshape(ends.shape)
        self.labelled = len(self.rows)
        n = len(self.rows)
        joined = coo_array((np.ones(len(ends)), self._places.T), shape=(n, n))
        self.groups = connected_components(joined, directed=False)[1][self._places[:, 0]].astype(np.int64)
        self.folds = self._dealt(draw)[self.groups]

    def _dealt(self, draw: np.random.Generator) -> IntArray:
        """Groups with pairs of one kind, of both, of the other kind, in this order: every fold has both."""
        count, kinds = int(self.groups.max()) + 1, (self.same, ~self.same)
        same, different = (np.bincount(self.groups[kind], minlength=count) > 0 for kind in kinds)
        folds = max(1, min(MOST_FOLDS, int(same.sum()), int(different.sum())))
        shuffled = draw.permutation(count)
        rank = different.astype(int) - same  # -1: same alone, 0: both, 1: different alone
        return dealt(shuffled[np.argsort(rank[shuffled], kind="stable")], folds)

    def judge(self, ids: IntArray) -> Float64Array:
        """(2, values): the share that a pair is on the right side of; whether partners are near the top."""
        there, back = (_ranks(ids, self._places[:, end], self._ends[:, 1 - end]) for end in (0, 1))
        place, right = there + back, np.full(len(there), np.nan)
        for fold in np.unique(self.folds):
            own = self.folds == fold
            same, different = np.flatnonzero(own & self.same), np.flatnonzero(own & ~self.same)
            apart = np.sign(place[different][None] - place[same][:, None]) / 2 + 0.5
            right[same], right[different] = apart.mean(axis=1), apart.mean(axis=0)
        near = ((there <= FIRST).astype(np.float64) + (back <= FIRST)) / 2
        return np.stack([right, np.where(self.same, near, np.nan)])


def _ranks(ids: IntArray, rows: IntArray, wanted: IntArray) -> IntArray:
    """Of each wanted item in its row, from one; behind the last where it is not in it."""
    found = ids[rows] == wanted[:, None]
    return np.asarray(np.where(found.any(axis=1), found.argmax(axis=1), ids.shape[1]) + 1)


def _checked(pairs: list[Pair], positions: Mapping[str, int]) -> tuple[IntArray, np.ndarray]:
    """Rows of both ends, each pair once, and which are the same."""
    known: dict[tuple[int, int], Pair] = {}
    for pair in pairs:
        for key in (pair.one, pair.other):
            if key not in positions:
                raise UnknownName(f"line {pair.line} of the pairs: there is no item {key!r} in the index.")
        one, other = sorted((positions[pair.one], positions[pair.other]))
        if one == other:
            raise BadInput(f"line {pair.line} of the pairs: {pair.one!r} is paired with itself.")
        before = known.setdefault((one, other), pair)
        if before.same != pair.same:
            raise BadInput(f"line {pair.line} of the pairs says the opposite of line {before.line}.")
    same = np.array([pair.same for pair in known.values()], bool)
    if same.all() or not same.any():
        raise BadInput("the pairs need at least one marked same and one marked different.")
    return np.array(list(known), np.int64), same
