"""How much of what is near an approximate search finds, by an exact search of some rows."""

from __future__ import annotations

import numpy as np

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.seeds import generator
from foldwalk.core.types import IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors.exact import exact_search

SAMPLED_ROWS = 200


def sampled_rows(vectors: Vectors, metric: str, seed: int = 0) -> IntArray:
    """Items to look at, at random; of the cosine none without a direction."""
    present = np.flatnonzero(~vectors.zero_rows) if metric == "cosine" else np.arange(len(vectors))
    return generator(seed, "recall").permutation(present)[:SAMPLED_ROWS]


def sampled_recall(lists: Neighbors, vectors: Vectors, seed: int = 0) -> float:
    """The share of the true neighbours of sampled items that stands in their lists."""
    rows = sampled_rows(vectors, lists.metric, seed)
    some = Neighbors(lists.ids[rows], lists.similarities[rows], lists.metric)
    return measured_recall(some, vectors, Vectors(vectors.values[rows]), rows)


def measured_recall(found: Neighbors, gallery: Vectors, queries: Vectors, own: IntArray) -> float:
    """The share of the true neighbours of these queries that was found."""
    exact = exact_search(gallery, queries, found.k, found.metric, own)
    hits = sum(len(np.intersect1d(a[a >= 0], b)) for a, b in zip(exact.ids, found.ids, strict=True))
    return hits / max(1, int((exact.ids >= 0).sum()))
