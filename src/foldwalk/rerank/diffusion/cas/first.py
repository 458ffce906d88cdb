"""Each query with the first of plain search as its own gallery: the paper's way at a million items."""

from __future__ import annotations

import numpy as np

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.progress import task
from foldwalk.core.vectors import Vectors
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.order import BEHIND, Reached


def rerank_first(method: Reranker, queries: Vectors, gallery: Vectors, found: Neighbors, top: int) -> Reached:
    """What `method` makes of the items found for each query, with scores before those of all others."""
    ids = np.full((len(queries), top), -1, np.int32)
    scores = np.zeros((len(queries), top), np.float32)
    with task("re-ranking the first", len(queries)) as advance:
        for q, members in enumerate(found.ids):
            members = members[members >= 0]
            if len(members):
                answer = method.rerank(queries.values[q : q + 1], gallery.values[members], top)
                ids[q, : answer.ids.shape[1]] = members[answer.ids[0]]
                scores[q, : answer.ids.shape[1]] = answer.scores[0] + BEHIND + 1
            advance(1)
    return Reached(ids, scores)
