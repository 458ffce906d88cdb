"""Plain search: rank by similarity alone. Every other method is measured against it."""

from __future__ import annotations

from foldwalk.core.types import IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.order import Reached
from foldwalk.rerank.registry import register


@register
class Plain(Reranker):
    name = "plain"
    family = "expansion"
    paper = "none: similarity of the vectors, cosine or Euclidean"
    summary = "plain search by similarity, the base line"
    joins_graph = False
    answers_from_rows = True
    takes_distances = True

    def _prepare(self) -> None:
        pass

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        found = self.search(queries, top)
        return Reached(found.ids, found.similarities)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        found = self.search_rows(rows, top)
        return Reached(found.ids, found.similarities)
