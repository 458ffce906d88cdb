"""Views as they were learned from a collection at one time, and their use on the items of today.

Axes stay as they are while items come and go. So the vectors of old items do not change in a view, and the
k-NN lists of each view are brought up to date from older ones, as those of the raw vectors are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foldwalk import views
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.index.graph.kept import KeptGraph
from foldwalk.index.graph.knn import WIDTH, KnnGraph
from foldwalk.index.types import ViewsState
from foldwalk.neighbors.beside import lists_beside
from foldwalk.stores import Facts, Store
from foldwalk.views.registry import Chain

GRAPHS = "graph/views"
METRIC = "cosine"
MOST_DRIFT = 0.2  # of the items that views were learned from: when more came or went, they are learned again


@dataclass(frozen=True, eq=False)
class KnownViews:
    """`version` is the moment in which they were learned, `numbers` are the items they were learned from."""

    version: int
    numbers: IntArray
    chains: dict[str, Chain]


def state_of(names: Sequence[str], version: int, learned_from: IntArray, numbers: IntArray) -> ViewsState:
    """How the items of today differ from those that views were learned from, and what follows."""
    items, stayed = len(learned_from), int(np.isin(learned_from, numbers).sum())
    came, went = len(numbers) - stayed, items - stayed
    due = came + went > MOST_DRIFT * items
    said = f"{'views' if len(names) > 1 else 'view'} {', '.join(names)} learned from {items:,} items"
    if came or went:
        said += f"; {came:,} came and {went:,} went since"
    if due:
        said += ", so the next fit learns anew"
    return ViewsState(tuple(names), version, items, came, went, due, f"{said}.")


class ViewsOfItems:
    """Known views on the items of one version of the collection."""

    def __init__(self, known: KnownViews, store: Store, facts: Facts, numbers: IntArray) -> None:
        self._known, self._store, self._facts, self._numbers = known, store, facts, numbers

    @property
    def version(self) -> int:
        return self._known.version

    @property
    def state(self) -> ViewsState:
        return state_of(list(self._known.chains), self.version, self._known.numbers, self._numbers)

    def views(self, names: Sequence[str]) -> dict[str, Chain]:
        """Those of the names; one that is not among the known ones, the raw view, learns nothing."""
        return {name: self._known.chains.get(name) or views.create(name) for name in names}

    def neighbors(self, name: str, seen: Vectors, others: Sequence[Neighbors] = ()) -> Neighbors:
        """The lists of the last graph that is kept, brought up to date; nothing of it stays in memory."""
        place = list(self._known.chains).index(name)
        graphs = KeptGraph(self._store, self._facts.uid, f"{GRAPHS}-{self.version}-{place}")
        older = graphs.load()
        if older is None and others:
            found = lists_beside(seen, others, min(WIDTH, *(other.k for other in others)))
            graph = KnnGraph.of(found, self._numbers, seen.scale)
        else:
            graph = KnnGraph.current(older, seen, self._numbers, METRIC)
        if graph.worth_saving():
            graphs.save(graph, self._facts.vectors_version)
        return graph.neighbors(METRIC)
