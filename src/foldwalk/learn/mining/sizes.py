"""How many neighbours to mine from, by how large the groups of a collection are.

The paper's sizes suit collections of some thousand pictures with classes of sixty. Where groups are smaller,
50 neighbours reach far beyond them, and what the walk finds there is wrong. With g the size of the groups
that is seen in the neighbour graph without labels (`foldwalk.rerank.automatic.group`):

    graph_k = g / 2,    positive_k = g,    negative_k = 5 g,    at most those of the paper
"""

from __future__ import annotations

import numpy.typing as npt

from foldwalk.core.vectors import Vectors
from foldwalk.neighbors import knn_graph, prepare
from foldwalk.rerank.automatic.group import LARGEST, excess_mutuality, group_size

PAPER = {"graph_k": 30, "positive_k": 50, "negative_k": 100}
SHARES = {"graph_k": 0.5, "positive_k": 1, "negative_k": 5}
LEAST = {"graph_k": 5, "positive_k": 10, "negative_k": 50}


def suited_sizes(features: npt.ArrayLike) -> dict[str, int]:
    """The parameters of ManifoldMiner that go by the size of groups."""
    vectors = prepare(Vectors.check(features, "features"), "cosine")
    nearest = knn_graph(vectors, min(LARGEST, len(vectors) - 1))
    group = group_size(excess_mutuality(nearest))
    return {
        name: min(most, max(LEAST[name], round(SHARES[name] * group)), len(vectors) - 1)
        for name, most in PAPER.items()
    }
