"""One version of the collection, as a reader sees it: it does not change under a search that uses it."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from foldwalk.core.types import Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.index.blocks import map_rows
from foldwalk.index.catalog import Catalog, State, unknown_key
from foldwalk.index.errors import Damaged
from foldwalk.index.fitted import FittedMethods
from foldwalk.index.graph_file import GraphFile
from foldwalk.index.knn import KnnGraph
from foldwalk.index.paths import both_ways
from foldwalk.index.recall import sampled_recall
from foldwalk.rerank.base import Reranker


class View:
    """Items in a dense order, by the number each was given when it came."""

    def __init__(
        self,
        catalog: Catalog,
        state: State,
        numbers: IntArray,
        keys: list[str],
        metadata_texts: list[str],
        vectors: Float32Array,
        before: View | None,
    ) -> None:
        self.catalog, self.state = catalog, state
        self.numbers, self.keys, self.metadata_texts, self.vectors = numbers, keys, metadata_texts, vectors
        self._lock = threading.RLock()
        self._graphs = GraphFile(catalog.derived, state.uid)
        self._graph: KnnGraph | None = None
        self._older_graph = before.newest_graph() if before is not None else None
        self._fitted = FittedMethods(catalog.derived / "fitted", state)
        if before is not None and before.state.vectors_version == state.vectors_version:
            self._fitted = before._fitted

    @classmethod
    def load(cls, catalog: Catalog, before: View | None = None) -> View:
        """The latest version; `before` is the one that was seen last, whose graph is a good start."""
        while True:
            with catalog.reading() as db:
                state = State.read(db)
                rows = db.execute("SELECT number, key, row, metadata FROM items ORDER BY number").fetchall()
            try:
                stored = map_rows(catalog.blocks / state.block, state.rows, state.dim or 0)
                break
            except Damaged:
                if catalog.state().block == state.block:
                    raise  # else the file was replaced by a rebuild just now: look again
        numbers = np.array([number for number, *_ in rows], np.int64)
        places = np.array([row for _, _, row, _ in rows], np.int64)
        gapless = len(places) == state.rows
        vectors = stored if gapless else stored[places]
        keys, texts = [key for _, key, *_ in rows], [text for *_, text in rows]
        return cls(catalog, state, numbers, keys, texts, vectors, before)

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def positions(self) -> dict[str, int]:
        return {key: place for place, key in enumerate(self.keys)}

    @cached_property
    def metadata(self) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self.metadata_texts]

    def position(self, key: str) -> int:
        try:
            return self.positions[key]
        except KeyError:
            raise unknown_key(key) from None

    # The graph --------------------------------------------------------------------------------------------

    def graph(self) -> KnnGraph:
        """The k-NN graph of this version: the last one that is known, brought up to date."""
        with self._lock:
            if self._graph is None:
                older = self._older_graph or self._graphs.load()
                self._graph = KnnGraph.current(older, self.prepared, self.numbers, self.state.metric)
                self._older_graph = None
                if self._graph.worth_saving():
                    self.keep_graph()
            return self._graph

    @cached_property
    def both_ways(self) -> sparse.csr_array:
        """The graph's similarities, of each item with those it lists and those that list it."""
        return both_ways(self.graph().neighbors(self.state.metric))

    @cached_property
    def recall(self) -> float:
        """The share of true neighbours that the graph has, by a sample."""
        return sampled_recall(self.graph(), self.prepared, self.state.metric)

    def newest_graph(self) -> KnnGraph | None:
        return self._graph or self._older_graph

    def rebuild_graph(self) -> None:
        with self._lock:
            self.adopt_graph(KnnGraph.build(self.prepared, self.numbers, self.state.metric))

    def adopt_graph(self, graph: KnnGraph) -> None:
        """Take a graph that was made for these items, and save it."""
        with self._lock:
            self._graph = graph
            self.keep_graph()

    def keep_graph(self) -> None:
        """Save the graph, if it has changed since it was saved."""
        with self._lock:
            graph = self._graph
            if graph is not None and graph.unsaved and self._graphs.save(graph, self.state.vectors_version):
                self._graph = replace(graph, unsaved=0)

    # What methods see -------------------------------------------------------------------------------------

    @property
    def prepared(self) -> Vectors:
        """The vectors as the metric sees them, which is how they are stored."""
        return Vectors(self.vectors)

    def methods_fitted(self) -> tuple[str, ...]:
        return self._fitted.names()

    def fitted(self, method: str, parameters: Mapping[str, Any]) -> Reranker:
        return self._fitted.get(method, parameters, self)
