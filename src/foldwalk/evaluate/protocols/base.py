"""What every protocol does: judge a ranking, measure it query by query, take the mean."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.ranking import Ranking
from foldwalk.core.types import Float64Array, IntArray
from foldwalk.evaluate.judgement import Hits, Judgement

# Of a (queries x answers) table: 25 to 50 MB of scratch memory, 200 MB if every answer is relevant.
CELLS_AT_ONCE = 2**22


class Protocol(ABC):
    """A ground truth and the rules to measure a ranking by it.

    Row q of a ranking answers query q, its ids count within the gallery. It may be cut short (top smaller
    than the gallery): what it does not return counts as never found, with all positives in the denominator.
    """

    name: str
    main: str = "mAP"
    n_queries: int

    @abstractmethod
    def judge(self, ranking: Ranking) -> Judgement:
        """Which answers are right and which do not count."""

    @abstractmethod
    def per_query(self, ranking: Ranking) -> dict[str, Float64Array]:
        """Each figure for each query, between 0 and 1; NaN for a query without any positive."""

    def evaluate(self, ranking: Ranking) -> dict[str, float]:
        """The mean of each figure over the queries that have a positive."""
        means = {}
        for key, values in self.per_query(ranking).items():
            measured = values[~np.isnan(values)]
            if not len(measured):
                raise BadInput(
                    f"{self.name}: no query has a relevant item in the gallery, so there is no {key}."
                )
            means[key] = float(measured.mean())
        return means


class BlockwiseProtocol(Protocol):
    """A protocol that judges a few rows at a time, so that memory stays bounded."""

    gallery_size: int | None  # None: not known, any id may stand in a ranking

    @abstractmethod
    def _judge_rows(self, ids: IntArray, rows: slice) -> Judgement:
        """Judge the given rows of a ranking."""

    @abstractmethod
    def _figures(self, hits: Hits) -> dict[str, Float64Array]:
        """Each figure for each query."""

    def judge(self, ranking: Ranking) -> Judgement:
        self._check(ranking)
        blocks = [self._judge_rows(ranking.ids[rows], rows) for rows in self._blocks(ranking)]
        return Judgement(
            np.concatenate([block.relevant for block in blocks]),
            np.concatenate([block.ignored for block in blocks]),
            np.concatenate([block.positives for block in blocks]),
        )

    def per_query(self, ranking: Ranking) -> dict[str, Float64Array]:
        self._check(ranking)
        blocks = [
            self._figures(self._judge_rows(ranking.ids[rows], rows).hits()) for rows in self._blocks(ranking)
        ]
        return {key: np.concatenate([block[key] for block in blocks]) for key in blocks[0]}

    def _cells_per_row(self, top: int) -> int:
        return top

    def _blocks(self, ranking: Ranking) -> Iterator[slice]:
        rows = max(1, CELLS_AT_ONCE // max(1, self._cells_per_row(ranking.ids.shape[1])))
        for start in range(0, self.n_queries, rows):
            yield slice(start, min(start + rows, self.n_queries))

    def _check(self, ranking: Ranking) -> None:
        if len(ranking) != self.n_queries:
            raise BadInput(
                f"the ranking has {len(ranking)} rows, but {self.name} has {self.n_queries} queries; pass "
                "one row per query."
            )
        largest = int(ranking.ids.max(initial=0))
        if self.gallery_size is not None and largest >= self.gallery_size:
            raise BadInput(
                f"the ranking holds the id {largest}, but the gallery of {self.name} has {self.gallery_size} "
                f"items, numbered from 0 to {self.gallery_size - 1}."
            )
