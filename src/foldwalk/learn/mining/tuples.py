"""From pools to one epoch's training tuples (section 3.4)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from foldwalk.core.types import Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.learn.mining.cosines import listed_cosines
from foldwalk.learn.mining.pools import Pools


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
    cosines = listed_cosines(unit, pools.anchors, pools.negatives)
    hardest_first = np.argsort(np.where(pools.negatives >= 0, -cosines, np.inf), axis=1, kind="stable")
    order = hardest_first[:, : min(count, cosines.shape[1])]
    ids = np.take_along_axis(pools.negatives, order, axis=1)
    values = np.take_along_axis(cosines, order, axis=1)
    return replace(pools, negatives=ids, negative_similarities=values)


def draw_tuples(pools: Pools, rng: np.random.Generator) -> Tuples:
    """For each anchor that has both, in random order, a random positive and a random negative.

    Refused if there is none: nothing would be learnt.
    """
    pools.need_usable()
    positive, negative = pools.positive_counts, pools.negative_counts
    rows = rng.permutation(np.flatnonzero(pools.usable))
    p = (rng.random(len(rows)) * positive[rows]).astype(np.int64)
    n = (rng.random(len(rows)) * negative[rows]).astype(np.int64)
    return Tuples(
        pools.anchors[rows],
        pools.positives[rows, p].astype(np.int64),
        pools.negatives[rows, n].astype(np.int64),
        pools.positive_weights[rows, p],
    )
