"""One version of the collection, as a reader sees it: it does not change under a search that uses it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from foldwalk.core.types import Float32Array
from foldwalk.core.vectors import Vectors
from foldwalk.index.asking.fitted import FittedMethods
from foldwalk.index.asking.handed import Handed
from foldwalk.index.asking.plain import similarities_to_all
from foldwalk.index.graph.chain import both_ways
from foldwalk.index.graph.kept import KeptGraph
from foldwalk.index.graph.knn import KnnGraph
from foldwalk.index.graph.recall import sampled_recall
from foldwalk.index.graph.scale import scale_for
from foldwalk.index.models import KeptModels
from foldwalk.index.types import ModelState, ViewsState
from foldwalk.index.views.kept import KeptViews
from foldwalk.neighbors.scale import in_scale, scale_for_all
from foldwalk.rerank.base import Reranker
from foldwalk.stores import Store
from foldwalk.stores.errors import unknown_key
from foldwalk.stores.metadata import metadata_of


class View:
    """Items in a dense order, by the number each was given when it came."""

    def __init__(self, store: Store, before: View | None = None) -> None:
        """The latest version; `before` is the one that was seen last, whose graph is a good start."""
        self.store = store
        self._snapshot = snapshot = store.snapshot()
        self.facts, self.numbers, self.keys = snapshot.facts, snapshot.numbers, snapshot.keys
        self.metadata_texts = snapshot.metadata
        self._lock = threading.RLock()
        self._graphs = KeptGraph(store, self.facts.uid)
        self._graph: KnnGraph | None = None
        self._scaled: Vectors | None = None
        self._older_graph = before.newest_graph() if before is not None else None
        self._fitted = FittedMethods(store, self.facts)
        if before is not None and before.facts.vectors_version == self.facts.vectors_version:
            self._fitted = before._fitted

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def positions(self) -> dict[str, int]:
        return {key: place for place, key in enumerate(self.keys)}

    @cached_property
    def metadata(self) -> list[dict[str, Any]]:
        return [metadata_of(text, key) for text, key in zip(self.metadata_texts, self.keys, strict=True)]

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
                version = self.facts.vectors_version  # whoever made it may have kept its graph already
                older = self._graphs.load(version) or self._older_graph or self._graphs.load()
                scale = scale_for(older, self.stored, self.numbers, self.facts.metric)
                self._graph = KnnGraph.current(older, self._in(scale), self.numbers, self.facts.metric)
                self._older_graph = None
                if self._graph.worth_saving():
                    self.keep_graph()
            return self._graph

    @cached_property
    def both_ways(self) -> sparse.csr_array:
        """The graph's similarities, of each item with those it lists and those that list it."""
        return both_ways(self.graph().neighbors(self.facts.metric))

    @cached_property
    def recall(self) -> float:
        """The share of true neighbours that the graph has, by a sample."""
        return sampled_recall(self.graph(), self.prepared, self.facts.metric)

    def newest_graph(self) -> KnnGraph | None:
        return self._graph or self._older_graph

    def rebuild_graph(self) -> None:
        with self._lock:
            scale = scale_for_all(self.stored, self.facts.metric)
            self.adopt_graph(KnnGraph.build(self._in(scale), self.numbers, self.facts.metric))

    def adopt_graph(self, graph: KnnGraph) -> None:
        """Take a graph that was made for these items, and save it."""
        with self._lock:
            self._graph = graph
            for cached in ("both_ways", "recall"):
                self.__dict__.pop(cached, None)
            self.keep_graph()

    def keep_graph(self) -> None:
        """Save the graph, if it has changed since it was saved."""
        with self._lock:
            graph = self._graph
            if graph is not None and graph.unsaved and self._graphs.save(graph, self.facts.vectors_version):
                self._graph = replace(graph, unsaved=0)

    # What methods see -------------------------------------------------------------------------------------

    def all_vectors(self) -> Float32Array:
        """All of them, (n, d), as they are stored: with the cosine metric at length one.

        With this the whole collection comes into memory, or into reach of it where the store maps a file.
        """
        return self._snapshot.vectors()

    @property
    def stored(self) -> Vectors:
        return Vectors(self.all_vectors())

    @property
    def scale(self) -> float:
        """That of the graph: what methods, similarities and explanations measure distances by."""
        return 1.0 if self.facts.metric == "cosine" else self.graph().scale

    @property
    def prepared(self) -> Vectors:
        """All vectors as the metric sees them, in the scale of the graph."""
        return self._in(self.scale)

    def _in(self, scale: float) -> Vectors:
        """All vectors in a scale; those of the last one that was asked for are kept."""
        if scale == 1:
            return self.stored
        with self._lock:
            if self._scaled is None or self._scaled.scale != scale:
                self._scaled = in_scale(self.stored, scale)
            return self._scaled

    def vector(self, place: int) -> Float32Array:
        """Of one item, as it is stored."""
        return np.asarray(self.all_vectors()[place])

    def similarities(self, vector: Float32Array) -> Float32Array:
        """Plain similarities of all items to a vector in the unit of those that are stored."""
        items = self.prepared
        asked = in_scale(Vectors(vector[None]), items.scale).values[0]
        return np.asarray(similarities_to_all(asked, items.values, self.facts.metric == "cosine"))

    def methods_fitted(self) -> tuple[str, ...]:
        return self._fitted.names()

    def fitted(self, method: str, parameters: Mapping[str, Any], fit: bool = True) -> Reranker:
        return self._fitted.get(method, parameters, self, fit)

    def fitted_once(self, method: str, parameters: Mapping[str, Any]) -> Reranker:
        return self._fitted.once(method, parameters, self)

    def is_fitted(self, method: str, parameters: Mapping[str, Any]) -> bool:
        """Whether `fitted` need not train."""
        return self._fitted.has(method, parameters, self)

    def is_ready(self, method: str, parameters: Mapping[str, Any]) -> bool:
        """Whether `fitted` has it in memory."""
        return len(self) > 0 and self._fitted.ready(method, parameters, self)

    def load_fitted(self, method: str, parameters: Mapping[str, Any], handed: Handed | None) -> bool:
        return self._fitted.load(method, parameters, self, handed)

    def hand_over(self, method: str, parameters: Mapping[str, Any]) -> Handed | None:
        return self._fitted.hand_over(method, parameters, self)

    def notes(self) -> dict[str, str]:
        """What fitted methods say they do and why, by their names."""
        return self._fitted.notes()

    def views(self) -> tuple[ViewsState, ...]:
        """What views learned from the collection, and how it has changed since."""
        return KeptViews(self.store, self.facts, self.numbers).states()

    def learn_views(self) -> None:
        """Learn all views again that are kept; what was fitted in the old ones is given up."""
        with self._lock:
            if len(self):
                KeptViews(self.store, self.facts, self.numbers).learn_again(self.prepared)
                self._fitted = FittedMethods(self.store, self.facts)

    def models(self) -> tuple[ModelState, ...]:
        """What was trained on the collection, and how it has changed since."""
        return KeptModels(self.store).states(self.numbers)
