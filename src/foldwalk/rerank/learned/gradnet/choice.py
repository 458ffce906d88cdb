"""k, chosen without labels: where the graph of mutual neighbours is most transitive.

Within a class, the neighbours of an item are neighbours of each other. As k grows towards the size of the
classes, triangles close; beyond it, further neighbours are strangers to each other, and triangles open. The
measure is the transitivity of the graph, the share of paths i - j - l whose ends are joined, corrected for
what chance would join (p = k / (n - 1)):

    (transitivity - p) / (1 - p)

On some collections it is nearly level, and a few items more or less would move its maximum from one end to
the other. So the smallest k is taken that is within one standard error of the best. Where the measure still
rises at the paper's k = 15, more neighbours add little and cost time: 15 is the most.
"""

from __future__ import annotations

import numpy as np

from foldwalk.core.neighbors import Neighbors
from foldwalk.graph import reciprocal_sets
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams

SMALLEST, LARGEST = 5, 15
# Items that are looked at: a sample is enough where there are many.
SAMPLE = 20_000


def largest_k(params: GradNetParams) -> int:
    """How many neighbours must be known."""
    return params.fixed_k or LARGEST


def choose_k(neighbors: Neighbors) -> int:
    """The smallest k from 5 to 15 whose excess transitivity is within a standard error of the largest."""
    if neighbors.k <= SMALLEST:
        return max(neighbors.k, 1)
    candidates = range(SMALLEST, min(LARGEST, neighbors.k) + 1)
    found = [excess_transitivity(neighbors, k) for k in candidates]
    best, error = max(found)
    return next(k for k, (excess, _) in zip(candidates, found, strict=True) if excess >= best - error)


def excess_transitivity(neighbors: Neighbors, k: int) -> tuple[float, float]:
    """The share of closed paths of two edges among mutual k nearest, over what chance would close.

    And its standard error, that of a ratio of sums over items.
    """
    graph = reciprocal_sets(neighbors, k)
    graph.setdiag(0)
    graph.eliminate_zeros()
    part = graph[:: max(1, len(neighbors) // SAMPLE)]
    degree = np.diff(part.indptr).astype(np.float64)
    paths = degree * (degree - 1)
    chance = k / (len(neighbors) - 1)
    if not paths.any() or chance >= 1:
        return 0.0, 0.0
    closed = np.asarray((part @ graph).multiply(part).sum(axis=1)).ravel()
    share = closed.sum() / paths.sum()
    error = np.linalg.norm(closed - share * paths) / paths.sum()
    return float((share - chance) / (1 - chance)), float(error / (1 - chance))
