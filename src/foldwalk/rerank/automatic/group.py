"""How large the groups of a collection are, and the sizes of CAS that go with them.

Of the k nearest of an item, some have the item among their own k nearest; the share of these over all items
is the mutuality m(k). By chance it would be c = k / (n - 1). Within a group everybody is near everybody, so
what is above chance, m' = (m - c) / (1 - c), holds or rises with k up to the size of the groups; beyond it,
lists reach into other groups at will, and it falls:

    g  =  the largest k up to 50 with  m'(k) >= .95 max over k of m'(k)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import Float64Array
from foldwalk.graph import mutuality

LARGEST = 50  # as many as an index keeps neighbours of each item
HIGH = 0.95
AUTHORS, CORE = 20, 4  # items in a cluster of CAS by default, and others in the core that it trusts


def excess_mutuality(neighbors: Neighbors, largest: int = LARGEST) -> Float64Array:
    """m'(1), m'(2), ... as far as half of the others."""
    n = len(neighbors)
    most = min(largest, neighbors.k, (n - 1) // 2)
    if most < 1:
        return np.zeros(0)
    chance = np.arange(1, most + 1) / (n - 1)
    return np.asarray((mutuality(neighbors.first(most)) - chance) / (1 - chance))


def group_size(excess: Float64Array) -> int:
    """g; 0 where nobody's neighbours are mutual."""
    peak = excess.max(initial=0.0)
    return int(np.flatnonzero(excess >= HIGH * peak)[-1]) + 1 if peak > 0 else 0


def sizes_for(group: int) -> dict[str, Any]:
    """CAS as its authors set it; of groups smaller than its clusters, in proportion."""
    cluster_k = max(group, CORE)
    if cluster_k >= AUTHORS:
        return {}
    part = cluster_k / AUTHORS
    return {"cluster_k": cluster_k, "transition_k": round(25 * part), "markov_k": round(25 * part)}
