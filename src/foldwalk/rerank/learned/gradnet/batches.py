"""Sextets, sampled as in section 3.8, in batches that stay local on the graph (section 3.7).

i runs over all items that have a neighbour, j is a neighbour of i; k is any such item, l a neighbour of k;
u and v are neighbours of none of them. With batches smaller than the collection, the graph is cut anew in
every epoch into small parts, breadth-first balls around random centres, so that no edge is cut for good. A
batch takes some parts; i runs through them, and k, u and v come from them. The parts of a batch are many and
small rather than few and large: strangers from a few large balls are all near, and little is learned of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

from foldwalk.core.types import BoolArray, Float32Array, IntArray
from foldwalk.walk.balls import breadth_first_balls

BALL = 16  # items of a part at least
PARTS = 64  # of a batch at most
POOL = 64  # items at least among which the k, u and v of a batch are drawn, however small it is
TRIES = 20


class Batch(NamedTuple):
    """Sextets (m, 6), and the items they were drawn from."""

    sextets: IntArray
    pool: IntArray


class SextetSampler:
    def __init__(self, affinity: sparse.csr_array, batch: int, rng: np.random.Generator) -> None:
        self.n = affinity.shape[0]
        self.rng = rng
        self.indptr, self.indices = affinity.indptr.astype(np.int64), affinity.indices.astype(np.int64)
        self.weights = affinity.data
        self.degree = np.diff(self.indptr)
        self.joined = np.flatnonzero(self.degree)
        self.batch = batch if 0 < batch < len(self.joined) else 0
        # Edges as ascending numbers: a pair is looked up by bisection.
        self.edges = np.repeat(np.arange(self.n), self.degree) * self.n + self.indices

    def epoch(self) -> Iterator[Batch]:
        """Every item that has a neighbour once as i, unless no stranger was met."""
        order = self.rng.permutation(self.joined)
        if not self.batch:
            everybody = np.arange(self.n)
            yield Batch(self._sextets(order, everybody), everybody)
            return
        order = breadth_first_balls(self.indptr, self.indices, order, max(BALL, self.batch // PARTS))
        for start in range(0, len(order), self.batch):
            pool = np.unique(order.take(range(start, start + max(self.batch, POOL)), mode="wrap"))
            yield Batch(self._sextets(order[start : start + self.batch], pool), pool)

    def affinity(self, a: IntArray, b: IntArray) -> Float32Array:
        """The affinity of pairs that are joined."""
        return np.asarray(self.weights[np.searchsorted(self.edges, a * self.n + b)])

    def _sextets(self, i: IntArray, pool: IntArray) -> IntArray:
        k = self.rng.choice(pool[self.degree[pool] > 0], len(i)) if len(i) else i
        quadruplets = np.stack([i, self._neighbor(i), k, self._neighbor(k)], axis=1)
        u, v = self._stranger(quadruplets, pool), self._stranger(quadruplets, pool)
        found = (u >= 0) & (v >= 0)
        return np.column_stack([quadruplets, u, v])[found]

    def _neighbor(self, items: IntArray) -> IntArray:
        places = (self.rng.random(len(items)) * self.degree[items]).astype(np.int64)
        return np.asarray(self.indices[self.indptr[items] + places])

    def _stranger(self, quadruplets: IntArray, pool: IntArray) -> IntArray:
        """For each quadruplet an item of the pool that is no neighbour of the four; -1 where none was met."""
        strangers = np.full(len(quadruplets), -1)
        for _ in range(TRIES):
            open_ = np.flatnonzero(strangers < 0)
            if not len(open_):
                break
            tried = self.rng.choice(pool, len(open_))
            strange = ~self._joined(quadruplets[open_], tried[:, None]).any(axis=1)
            strangers[open_[strange]] = tried[strange]
        return strangers

    def _joined(self, a: IntArray, b: IntArray) -> BoolArray:
        wanted = a * self.n + b
        places = np.minimum(np.searchsorted(self.edges, wanted), len(self.edges) - 1)
        return np.asarray((self.edges[places] == wanted) | (a == b))
