"""Mutual rank: near items are re-ordered by the mean of two ranks, theirs for the query and its for them.

A teaching example, from no paper. With r(q, i) the place of item i among the nearest of query q, and
r(i, q) = 1 + how many of the k nearest of i are closer to i than q is:

    score(q, i) = 1 / ((1 - weight) r(q, i) + weight r(i, q)),   for the k nearest i of q.

weight = 0 leaves the order of plain search. Items beyond the k nearest are not reached.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.graph import as_rows
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params, neighborhood
from foldwalk.rerank.registry import register


class MutualRankParams(Params):
    k: int = neighborhood(20, "nearest items that are put into a new order")
    weight: float = Field(0.5, ge=0, le=1, description="weight of the rank that an item gives the query")


@register
class MutualRank(Reranker):
    name = "mutual_rank"
    family = "context"
    paper = "none: an example of the documentation"
    summary = "near items re-ordered by the mean of their rank for the query and its rank for them"
    Parameters = MutualRankParams
    answers_from_rows = True

    def _prepare(self) -> None:
        self.nearest = self.neighbors()

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        return self._mean_of_ranks(self.search(queries, self.params.k), top)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        return self._mean_of_ranks(self.search_rows(rows, self.params.k), top)

    def _mean_of_ranks(self, found: Neighbors, top: int) -> Reached:
        rank_of_item = np.arange(1, found.k + 1)
        rank_of_query = np.ones(found.ids.shape)
        for place in range(found.k):
            around = self.nearest.similarities[found.ids[:, place]]
            known = self.nearest.ids[found.ids[:, place]] >= 0
            closer = known & (around > found.similarities[:, [place]])
            rank_of_query[:, place] += closer.sum(axis=1)
        weight = self.params.weight
        scores = 1 / ((1 - weight) * rank_of_item + weight * rank_of_query)
        rows = as_rows(found, scores.astype(np.float32), self.candidates)
        return Reached.from_sparse(rows, top, self.candidates, own=None)
