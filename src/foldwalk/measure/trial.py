"""A data set as it is measured: with all of its queries, or with a random sample of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image

from foldwalk.core import BadInput, Ranking
from foldwalk.core.seeds import generator
from foldwalk.core.types import Float32Array, Float64Array, IntArray
from foldwalk.datasets import Dataset
from foldwalk.evaluate import Judgement, LeaveOneOut, Protocol, QueryGallery
from foldwalk.evaluate.protocols.labelled import RECALL_AT


@dataclass(frozen=True, eq=False)
class Trial:
    """What to rank and how to judge it. Without queries every gallery item is one (leave-one-out).

    `gallery_rows` and `query_rows` say where the items stand in the data set; None: all, in order.
    """

    dataset: Dataset
    gallery: Float32Array
    queries: Float32Array | None
    protocol: Protocol
    gallery_rows: IntArray | None = None
    query_rows: IntArray | None = None

    def picture(self, item: int) -> Image.Image | None:
        return self.dataset.picture(item if self.gallery_rows is None else int(self.gallery_rows[item]))

    def query_picture(self, query: int) -> Image.Image | None:
        return self.dataset.query_picture(query if self.query_rows is None else int(self.query_rows[query]))


class SomeQueries(Protocol):
    """A protocol for some of its queries: row i of a ranking answers query rows[i]."""

    def __init__(self, whole: Protocol, rows: IntArray) -> None:
        self.whole, self.rows = whole, rows
        self.name, self.main, self.n_queries = whole.name, whole.main, len(rows)

    def judge(self, ranking: Ranking) -> Judgement:
        judged = self.whole.judge(self._spread(ranking))
        return Judgement(judged.relevant[self.rows], judged.ignored[self.rows], judged.positives[self.rows])

    def per_query(self, ranking: Ranking) -> dict[str, Float64Array]:
        figures = self.whole.per_query(self._spread(ranking))
        return {key: values[self.rows] for key, values in figures.items()}

    def _spread(self, ranking: Ranking) -> Ranking:
        """A row for every query of the whole; those not asked for repeat the first and are dropped again."""
        if len(ranking) != self.n_queries:
            raise BadInput(f"the ranking has {len(ranking)} rows, but {self.n_queries} queries were sampled.")
        place = np.zeros(self.whole.n_queries, dtype=np.int64)
        place[self.rows] = np.arange(len(self.rows))
        return Ranking(ranking.ids[place], ranking.scores[place])


def open_trial(dataset: Dataset, sample: int | None = None, seed: int = 0) -> Trial:
    """The trial of a data set; `sample` asks for so many of its queries, drawn by the seed.

    Where every gallery item is a query, the sampled items leave the gallery and query the rest of it.
    """
    if dataset.gallery is None:
        raise BadInput(
            f"{dataset.name} was loaded as {dataset.kind}, without vectors; name it "
            f"{dataset.name}:features or {dataset.name}:pixels."
        )
    if sample is None or sample >= dataset.protocol.n_queries:
        return Trial(dataset, dataset.gallery, dataset.queries, dataset.protocol)
    drawn = generator(seed, "sampled queries").choice(dataset.protocol.n_queries, sample, replace=False)
    rows = np.sort(drawn)
    if dataset.queries is not None:
        protocol: Protocol = SomeQueries(dataset.protocol, rows)
        return Trial(dataset, dataset.gallery, dataset.queries[rows], protocol, query_rows=rows)
    if dataset.labels is None:
        raise BadInput(f"{dataset.name} has no labels to sample queries by; leave out --queries.")
    rest = np.setdiff1d(np.arange(len(dataset.gallery)), rows)
    whole = dataset.protocol
    ranks = whole.recall_at if isinstance(whole, LeaveOneOut) else RECALL_AT
    protocol = QueryGallery(dataset.labels[rows], dataset.labels[rest], recall_at=ranks)
    return Trial(dataset, dataset.gallery[rest], dataset.gallery[rows], protocol, rest, rows)
