"""Everything the store keeps against everything that is known of it. Nothing is changed.

The store checks itself; then the k-NN graph is brought up to date in memory, and sampled rows of it are
searched exactly.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

import numpy as np

from foldwalk import stores
from foldwalk.core.vectors import Vectors
from foldwalk.index.files.compare import compare_files
from foldwalk.index.graph.kept import KeptGraph
from foldwalk.index.graph.knn import KnnGraph
from foldwalk.index.graph.recall import GOOD_RECALL, sampled_recall
from foldwalk.index.types import Verification
from foldwalk.neighbors.scale import in_scale
from foldwalk.neighbors.similarity import pair_similarities
from foldwalk.stores import Damaged, Store
from foldwalk.stores.registry import PathLike
from foldwalk.stores.types import Checked

SAMPLED_ROWS = 200


def verify(place: PathLike, files: bool = False) -> Verification:
    """By a connection of its own, so that searches need not wait; with `files` also those of the items."""
    checked, compared = Checked(0, 0, ()), None
    problems: list[str] = []
    began, seconds = time.perf_counter(), 0.0
    try:
        with closing(stores.open(place)) as store:
            checked = store.verify()
            seconds = time.perf_counter() - began
            problems += checked.problems
            if checked.readable:
                with np.errstate(over="ignore", invalid="ignore"):  # damaged vectors may hold any number
                    problems += _graph_problems(store)
            if files:
                compared = compare_files(store)
    except Damaged as error:
        problems.append(str(error))
    ok = not problems and (compared is None or compared.ok)
    speed = checked.bytes / seconds if seconds else 0.0
    return Verification(ok, checked.items, checked.runs, tuple(problems), checked.bytes, speed, compared)


def _graph_problems(store: Store) -> Iterator[str]:
    snapshot = store.snapshot()
    kept = KeptGraph(store, snapshot.facts.uid)
    saved = kept.load()
    if saved is None:
        if kept.versions():
            yield "the saved graph is damaged; rebuild the index, which makes it again."
        return
    metric, stored = snapshot.facts.metric, Vectors(snapshot.vectors())
    vectors = in_scale(stored, saved.scale)
    graph = KnnGraph.current(saved, vectors, snapshot.numbers, metric)
    sample = np.arange(0, len(graph), max(1, len(graph) // SAMPLED_ROWS))
    listed = graph.ids[sample]
    known = listed >= 0
    indptr = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    rows = vectors.values
    true = pair_similarities(rows[sample], rows, indptr, listed[known], metric == "cosine")
    if not np.allclose(true, graph.similarities[sample][known], atol=1e-5):
        yield "similarities in the saved graph are not those of its items; rebuild the index."
    elif sampled_recall(graph, vectors, metric) < GOOD_RECALL - 0.07:
        yield "the saved graph misses many true neighbours; rebuild the index."
