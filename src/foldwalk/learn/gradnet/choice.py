"""k, chosen without labels: where the graph of mutual neighbours is most transitive.

Within a class, the neighbours of an item are neighbours of each other. As k grows towards the size of the
classes, triangles close; beyond it, further neighbours are strangers to each other, and triangles open. The
measure is the transitivity of the graph, the share of paths i - j - l whose ends are joined, corrected for
what chance would join (p = k / (n - 1)):

    (transitivity - p) / (1 - p)

Where it is still rising at the paper's k = 15, more neighbours add little and cost time: 15 is taken.
"""

from __future__ import annotations

import numpy as np

from foldwalk.core.neighbors import Neighbors
from foldwalk.graph import reciprocal_sets
from foldwalk.learn.gradnet.parameters import GradNetParams

SMALLEST, LARGEST = 5, 15
# Items that are looked at: a sample is enough where there are many.
SAMPLE = 20_000


def largest_k(params: GradNetParams) -> int:
    """How many neighbours must be known."""
    return params.fixed_k or LARGEST


def choose_k(neighbors: Neighbors) -> int:
    """The k from 5 to 15 at which mutual neighbours are most transitive; the smaller of equals."""
    if neighbors.k <= SMALLEST:
        return max(neighbors.k, 1)
    candidates = range(SMALLEST, min(LARGEST, neighbors.k) + 1)
    return max(candidates, key=lambda k: (round(excess_transitivity(neighbors, k), 6), -k))


def excess_transitivity(neighbors: Neighbors, k: int) -> float:
    """The share of closed paths of two edges among mutual k nearest, over what chance would close."""
    graph = reciprocal_sets(neighbors, k)
    graph.setdiag(0)
    graph.eliminate_zeros()
    part = graph[:: max(1, len(neighbors) // SAMPLE)]
    degree = np.diff(part.indptr)
    paths = float((degree * (degree - 1)).sum())
    chance = k / (len(neighbors) - 1)
    if not paths or chance >= 1:
        return 0.0
    closed = float((part @ graph).multiply(part).sum())
    return (closed / paths - chance) / (1 - chance)
