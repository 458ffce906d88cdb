"""How good the graph is: the share of true neighbours it has, by exact search of sampled rows."""

from __future__ import annotations

import numpy as np

from foldwalk.core.seeds import generator
from foldwalk.core.vectors import Vectors
from foldwalk.index.graph.knn import PROMISED, KnnGraph
from foldwalk.neighbors.exact import exact_search

SAMPLED_ROWS = 100
GOOD_RECALL = 0.97


def sampled_recall(graph: KnnGraph, vectors: Vectors, metric: str) -> float:
    """The share of the true 50 nearest of sampled items that the graph has."""
    if len(graph) < 2:
        return 1.0
    rows = np.sort(generator(0, "index recall").permutation(len(graph))[:SAMPLED_ROWS])
    k = min(PROMISED, len(graph) - 1)
    exact = exact_search(vectors, Vectors(vectors.values[rows]), k, metric, own=rows).ids
    hits = sum(
        np.isin(true[true >= 0], known).sum() for true, known in zip(exact, graph.ids[rows], strict=True)
    )
    return float(hits) / max(1, int((exact >= 0).sum()))
