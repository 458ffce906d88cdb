"""Queries that were never seen: query feature expansion, QFE (section 3.6).

    h_q = sum over the k nearest i of  s_qi h_i                                                (eq. 23)

scaled to length one, with s the similarity of the graph. Applied twice, the second search takes place among
the learned features, and s is their cosine.
"""

from __future__ import annotations

import numpy as np

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import Float32Array
from foldwalk.core.vectors import Vectors
from foldwalk.graph import as_rows, cosine_power
from foldwalk.neighbors import Searcher
from foldwalk.rerank.learned.gradnet.graph import edge_weights


def expand(found: Neighbors, features: Vectors, kernel: str) -> Vectors:
    """Eq. 23: the learned features of queries from those of their nearest items."""
    return _mixture(found, edge_weights(found, kernel), features)


def expand_again(queries: Vectors, learned: Searcher, k: int) -> Vectors:
    """Eq. 23 once more, with the nearest among the learned features."""
    found = learned.search(queries, min(k, len(learned.gallery)))
    return _mixture(found, cosine_power(found, 1.0), learned.gallery)


def _mixture(found: Neighbors, weights: Float32Array, features: Vectors) -> Vectors:
    mixed = as_rows(found, weights, len(features)) @ features.values
    return Vectors(np.ascontiguousarray(mixed, np.float32)).unit()
