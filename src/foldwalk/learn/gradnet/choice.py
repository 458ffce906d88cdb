"""k, chosen without labels: where the graph of mutual neighbours is most transitive.

Within a class, the neighbours of an item are neighbours of each other. As k grows towards the size of the
classes, triangles close; beyond it, further neighbours are strangers to each other, and triangles open. The
measure is the transitivity of the graph, the share of paths i - j - l whose ends are joined, corrected for
what chance would join (p = k / (n - 1)):

    (transitivity - p) / (1 - p)

Its standard error is that of a ratio of sums over items. Values of k within one standard error of the best
cannot be told apart, and the smallest of them is taken: its edges are the surest. (Decision trees are pruned
by the same rule.) Where the measure is still rising at the paper's k = 15 the search ends: more neighbours
add little and cost time.
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
    """The smallest k from 5 to 15 whose transitivity is within one standard error of the best."""
    if neighbors.k <= SMALLEST:
        return max(neighbors.k, 1)
    measured = {k: excess_transitivity(neighbors, k) for k in range(SMALLEST, min(LARGEST, neighbors.k) + 1)}
    best, error = max(measured.values())
    return min(k for k, (excess, _) in measured.items() if excess >= best - error)


def excess_transitivity(neighbors: Neighbors, k: int) -> tuple[float, float]:
    """Closed paths among mutual k nearest, as a share, over what chance would close; its standard error."""
    graph = reciprocal_sets(neighbors, k)
    graph.setdiag(0)
    graph.eliminate_zeros()
    part = graph[:: max(1, len(neighbors) // SAMPLE)]
    degree = np.diff(part.indptr).astype(np.float64)
    paths = degree * (degree - 1)
    closed = (part @ graph).multiply(part).sum(axis=1)
    chance = k / (len(neighbors) - 1)
    if not paths.any() or chance >= 1:
        return 0.0, 0.0
    share = closed.sum() / paths.sum()
    error = np.sqrt(((closed - share * paths) ** 2).sum()) / paths.sum()
    return float((share - chance) / (1 - chance)), float(error / (1 - chance))
