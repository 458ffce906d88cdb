"""k, chosen without labels: where the graph of mutual neighbours is most transitive.

Within a class, the neighbours of an item are neighbours of each other. As k grows towards the size of the
classes, triangles close; beyond it, further neighbours are strangers to each other, and triangles open. The
measure is the transitivity of the graph, the share of paths i - j - l whose ends are joined, corrected for
what chance would join (p = k / (n - 1)):

    (transitivity - p) / (1 - p)

On some collections it is nearly level, and a few items more or less would move its maximum from one end to
the other. So the smallest k is taken that is within one standard error of the best. Where the measure still
rises at the paper's k = 15, more neighbours add little and cost time: 15 is the most.

Few neighbours close few triangles, and pairs close none. So groups of two to five are looked for first, by
mutuality: the share m of the k nearest who have the item among their own k nearest, over chance in the same
way. It is highest where k fills the groups, and falls behind: whoever comes next is a stranger who has nearer
ones. Where it does not fall below 95 % of its height up to k = 15, there are no small groups to be seen.
"""

from __future__ import annotations

import numpy as np

from foldwalk.core.neighbors import Neighbors
from foldwalk.graph import mutuality, reciprocal_sets
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams

SMALLEST, LARGEST = 5, 15
# Share of its height at which mutuality counts as high.
HIGH = 0.95
# Items that are looked at: a sample is enough where there are many.
SAMPLE = 20_000


def largest_k(params: GradNetParams) -> int:
    """How many neighbours must be known."""
    return params.fixed_k or LARGEST


def choose_k(neighbors: Neighbors) -> int:
    """The neighbours of a small group, or the smallest k from 5 to 15 that is about as transitive as any."""
    if neighbors.k <= SMALLEST:
        return max(neighbors.k, 1)
    few = neighbors_in_group(neighbors)
    if few < SMALLEST:
        return few
    candidates = range(SMALLEST, min(LARGEST, neighbors.k) + 1)
    found = [excess_transitivity(neighbors, k) for k in candidates]
    best, error = max(found)
    return next(k for k, (excess, _) in zip(candidates, found, strict=True) if excess >= best - error)


def neighbors_in_group(neighbors: Neighbors) -> int:
    """How many others the groups of the collection have: the largest k at which mutuality is high."""
    known = neighbors.first(min(LARGEST, neighbors.k, len(neighbors) - 2))
    if known.k < 1:
        return neighbors.k
    chance = np.arange(1, known.k + 1) / (len(known) - 1)
    excess = (mutuality(known, SAMPLE) - chance) / (1 - chance)
    return int(np.flatnonzero(excess >= HIGH * excess.max())[-1]) + 1


def advice(neighbors: Neighbors) -> str:
    """A sentence where the graph says that there is little to learn from; else nothing."""
    if neighbors.k <= SMALLEST or neighbors_in_group(neighbors) > 1:
        return ""
    return (
        "the items seem to come in pairs: GRAD-Net learns from groups of three or more, "
        "and will hardly rank better than plain search here."
    )


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
