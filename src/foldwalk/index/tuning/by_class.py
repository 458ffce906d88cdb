"""Candidates judged by classes: every labelled item is a query for the others of its class.

An item without a label may belong to any class: it is passed over when ranks are counted. Classes are held
out whole, so nothing of a class that is judged has had a say in the choice.
"""

from __future__ import annotations

import numpy as np

from foldwalk.core.seeds import generator
from foldwalk.core.types import Float64Array, IntArray
from foldwalk.evaluate import Judgement
from foldwalk.evaluate.metrics import average_precision, recall_at
from foldwalk.index.tuning.folds import MOST_FOLDS, dealt

MOST_QUERIES = 2_000


class ByClass:
    """`codes` are the classes of all items, -1 for none. Each of the `rows` that are asked has a value."""

    figures = ("mAP", "R@1")
    group, item = "classes", "labelled items"

    def __init__(self, codes: IntArray) -> None:
        self._codes, self._sizes = codes, np.bincount(codes[codes >= 0])
        self.labelled = int((codes >= 0).sum())
        queries = np.flatnonzero((codes >= 0) & (self._sizes[codes] > 1))
        draw = generator(0, "tune")
        if len(queries) > MOST_QUERIES:
            queries = np.sort(draw.choice(queries, MOST_QUERIES, replace=False))
        self.rows = queries
        self.groups = np.unique(codes[queries], return_inverse=True)[1]
        asked = np.bincount(self.groups)
        # The largest first, so that they are in different folds; which of equal ones, by chance.
        shuffled = draw.permutation(len(asked))
        order = shuffled[np.argsort(-asked[shuffled], kind="stable")]
        self.folds = dealt(order, min(MOST_FOLDS, len(asked)))[self.groups]

    def judge(self, ids: IntArray) -> Float64Array:
        """(2, values): average precision, and whether the first answer is right; row q answers rows[q]."""
        own, found = self._codes[self.rows], self._codes[ids]
        judged = Judgement(found == own[:, None], found < 0, self._sizes[own] - 1)
        hits = judged.hits()
        return np.stack([average_precision(hits), recall_at(hits, 1)])
