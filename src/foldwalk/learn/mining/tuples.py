"""From pools to one epoch's training tuples (section 3.4)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from foldwalk.core.types import Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.learn.mining.pools import Pools
from foldwalk.learn.mining.report import CELLS_AT_ONCE


@dataclass(frozen=True, eq=False)
class Tuples:
    """Items (t,): a positive and a negative for each anchor; `weights` are +W, of mean 1 over the pools."""

    anchors: IntArray
    positives: IntArray
    negatives: IntArray
    weights: Float32Array

    def __len__(self) -> int:
        return len(self.anchors)


def hardest_negatives(pools: Pools, embedding: npt.ArrayLike, count: int = 10) -> Pools:
    """The pools with only the `count` negatives nearest to each anchor in the current embedding (n, d)."""
    unit = Vectors.check(embedding, "embedding").unit().values
    ids = np.full((len(pools), min(count, pools.negatives.shape[1])), -1, np.int32)
    values = np.zeros(ids.shape, np.float32)
    step = max(1, CELLS_AT_ONCE // max(1, pools.negatives.shape[1] * unit.shape[1]))
    for start in range(0, len(pools), step):
        rows = slice(start, start + step)
        some = pools.negatives[rows]
        cosines = (unit[some] @ unit[pools.anchors[rows]][:, :, None])[:, :, 0]
        order = np.argsort(np.where(some >= 0, -cosines, np.inf), axis=1, kind="stable")[:, : ids.shape[1]]
        ids[rows] = np.take_along_axis(some, order, axis=1)
        values[rows] = np.where(ids[rows] >= 0, np.take_along_axis(cosines, order, axis=1), 0)
    return replace(pools, negatives=ids, negative_similarities=values)


def draw_tuples(pools: Pools, rng: np.random.Generator) -> Tuples:
    """For each anchor that has both, in random order, a random positive and a random negative."""
    positive, negative = pools.positive_counts, pools.negative_counts
    rows = rng.permutation(np.flatnonzero((positive > 0) & (negative > 0)))
    p = (rng.random(len(rows)) * positive[rows]).astype(np.int64)
    n = (rng.random(len(rows)) * negative[rows]).astype(np.int64)
    return Tuples(
        pools.anchors[rows],
        pools.positives[rows, p].astype(np.int64),
        pools.negatives[rows, n].astype(np.int64),
        pools.positive_weights[rows, p],
    )
