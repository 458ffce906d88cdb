"""What a ground truth says about a ranking: what is right, what does not count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foldwalk.core.types import BoolArray, Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class Hits:
    """The right answers of a ranking, one entry each, by query and then by rank.

    `rank` counts from 1 and passes over what is ignored, `order` says the how-manieth right answer of its
    query it is, `positives` how many right answers each query has in the whole gallery. A ranking may be cut
    short: a positive it does not return has no entry here, and every metric takes it as never found.
    """

    query: IntArray
    rank: IntArray
    order: IntArray
    positives: IntArray

    def total(self, weights: Float64Array | BoolArray) -> Float64Array:
        """The sum of a weight per hit, for each query."""
        sums = np.bincount(self.query, weights, minlength=len(self.positives))
        return sums.astype(np.float64, copy=False)

    def last_rank(self) -> Float64Array:
        """The rank at which a query's last positive is found; infinite when the ranking misses one."""
        ranks = np.full(len(self.positives), np.inf)
        last = self.order == self.positives[self.query]
        ranks[self.query[last]] = self.rank[last]
        return ranks


@dataclass(frozen=True, eq=False)
class Judgement:
    """relevant (q, top) and ignored (q, top), never both; positives (q,): the right answers there are.

    An ignored answer is taken out before ranks are counted. `positives` counts the whole gallery, also what a
    ranking cut short does not return.
    """

    relevant: BoolArray
    ignored: BoolArray
    positives: IntArray

    def hits(self) -> Hits:
        """The relevant items that were found, each with its rank among those that count."""
        query, column = np.nonzero(self.relevant)
        rank = column + 1
        if self.ignored.any():
            rank -= np.cumsum(self.ignored, axis=1, dtype=np.int32)[query, column]
        found = np.bincount(query, minlength=len(self.positives))
        order = np.arange(1, len(query) + 1) - (np.cumsum(found) - found)[query]
        return Hits(query, rank, order, self.positives)
