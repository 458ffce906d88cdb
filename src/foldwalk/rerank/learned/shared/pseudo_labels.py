"""Which pairs belong together, as far as the graph alone can tell: targets for training without labels.

Two items count as the same when their expanded sets of mutual neighbours R* (Zhong et al. 2017, see
`foldwalk.graph.reciprocal`) have most of their members in common:

    |R*(i) and R*(j)|  >  |R*(i) or R*(j)| / 2

A majority of the union is a strict demand, and a symmetric one: two items can hardly fulfil it by chance. It
knows nothing of the order of the items. Given labels take its place where there are any.

The demand is so strict that the far end of a large group fails it. Two items that a chain of such pairs joins
may therefore belong together though they are no pair: whether they do, the graph cannot tell.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from foldwalk.core.errors import BadInput
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import BoolArray, Int32Array, IntArray
from foldwalk.graph import expand_sets, reciprocal_sets
from foldwalk.walk import InvertedList
from foldwalk.walk.csr import parts

# Neighbours among which mutual ones are looked for, as in k-reciprocal encoding.
NEIGHBORS = 20


class PseudoLabels:
    """Pairs that the neighbours agree on."""

    def __init__(self, neighbors: Neighbors) -> None:
        k = min(NEIGHBORS, neighbors.k)
        halves = reciprocal_sets(neighbors, round(NEIGHBORS / 2))
        sets = expand_sets(reciprocal_sets(neighbors, k), halves)
        common = InvertedList(sets).overlap(sets, "minimum")
        sizes = np.diff(sets.indptr)
        indptr, columns, shared = parts(common)
        rows = np.repeat(np.arange(len(neighbors)), np.diff(indptr))
        same = 3 * shared > sizes[rows] + sizes[columns]  # 2 c > a + b - c
        pairs = (rows[same].astype(np.int64), columns[same])
        self.n = len(neighbors)
        self.keys = np.sort(pairs[0] * self.n + pairs[1])
        joined = sparse.csr_array((np.ones(len(self.keys), np.int8), pairs), shape=(self.n, self.n))
        self.chain: Int32Array = connected_components(joined, directed=False)[1]

    def same(self, rows: IntArray, ids: Int32Array | IntArray) -> BoolArray:
        """Whether ids[r, c] belongs with rows[r]; an id of -1 belongs with nobody."""
        asked = rows[:, None] * self.n + ids
        places = np.minimum(np.searchsorted(self.keys, asked), len(self.keys) - 1)
        return np.asarray((ids >= 0) & (self.keys[places] == asked))

    def chained(self, rows: IntArray, ids: Int32Array | IntArray) -> BoolArray:
        """Whether a chain of pairs joins rows[r] with ids[r, c]."""
        return np.asarray((ids >= 0) & (self.chain[ids] == self.chain[rows][:, None]))


class GivenLabels:
    """Pairs of equal label."""

    def __init__(self, labels: npt.ArrayLike, n: int) -> None:
        given = np.asarray(labels)
        if given.shape != (n,):
            raise BadInput(f"labels have shape {given.shape}, but one for each of {n} items is needed.")
        self.labels = np.unique(given, return_inverse=True)[1]

    def same(self, rows: IntArray, ids: Int32Array | IntArray) -> BoolArray:
        return np.asarray((ids >= 0) & (self.labels[ids] == self.labels[rows][:, None]))

    chained = same
