"""What query expansions share: a weighted mean of query and neighbours, and a second search."""

from __future__ import annotations

from abc import abstractmethod

from pydantic import Field

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors import Searcher, prepare
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params, neighborhood
from foldwalk.walk.sums import weighted_sums

# A mean for the gallery may be wider than one for the query: see aqe.py for what that gains.
DBA_LEAST = 10


class ExpansionParams(Params):
    k: int
    dba: bool = Field(False, description="also replace every item by the mean of itself and its nearest")
    dba_k: int = neighborhood(
        0, "with dba: nearest items that replace an item, itself counted; 0: as many as k, at least 10", low=0
    )

    @property
    def around_an_item(self) -> int:
        """Neighbours of an item that replace it together with itself."""
        return (self.dba_k or max(self.k, DBA_LEAST)) - 1 if self.dba else 0


class Expansion(Reranker):
    """A method says how neighbours are weighed; the vector itself weighs one."""

    joins_graph = False

    @abstractmethod
    def _weights(self, neighbors: Neighbors) -> Float32Array: ...

    def _wanted(self, _: int) -> int:
        return int(self.params.around_an_item)

    def _prepare(self) -> None:
        self.expanded = self.searcher
        if self.params.dba:
            around = self.neighbors()
            self.expanded = Searcher(self._mean(self.vectors, around), self.params.metric, seed=self.seed)

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        return self._second_search(queries, self.search(queries, self.params.k), None, top)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        queries = Vectors(self.vectors.values[rows])
        return self._second_search(queries, self.search_rows(rows, self.params.k), rows, top)

    def _second_search(self, queries: Vectors, found: Neighbors, own: IntArray | None, top: int) -> Reached:
        again = self.expanded.search(self._mean(queries, found), min(top, self.candidates), own)
        return Reached(again.ids, again.similarities)

    def _mean(self, vectors: Vectors, neighbors: Neighbors) -> Vectors:
        """The weighted mean of each vector and its neighbours, as the metric sees it."""
        weights = self._weights(neighbors)
        sums = weighted_sums(vectors.values, self.vectors.values, neighbors.ids, weights)
        means = Vectors(sums / (1 + weights.sum(axis=1, keepdims=True)), self.vector_scale)
        return prepare(means, self.params.metric, self.vector_scale)
