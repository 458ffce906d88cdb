"""CAS in plain dense numpy, line by line from the paper: the yardstick of the benchmark, the judge of tests.

Everything is an n x n array of float64 and every set a Python loop; nothing is shared with the package.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

Array = np.ndarray[Any, Any]


def scaled(matrix: Array) -> Array:
    sums = matrix.sum(axis=1, keepdims=True)
    return matrix / np.where(sums > 0, sums, 1)


def relative_distances(x: Array) -> Array:
    x = x.astype(np.float64)
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    squared = np.maximum(2 - 2 * x @ x.T, 0)
    np.fill_diagonal(squared, 0)
    return squared / squared.max(axis=1, keepdims=True)


def order_of(distances: Array) -> Array:
    own_first = distances.copy()
    np.fill_diagonal(own_first, -1)
    return np.argsort(own_first, axis=1, kind="stable")


def mutual(order: Array, count: int) -> Array:
    """True where both are among the other's first `count`, themselves counted."""
    among = np.zeros(order.shape, bool)
    among[np.arange(len(order))[:, None], order[:, :count]] = True
    return among & among.T


def clusters_of(order: Array, k: int) -> Array:
    """Expanded k-reciprocal sets."""
    sets, halves = mutual(order, k + 1), mutual(order, k // 2 + 1)
    expanded = sets.copy()
    for i in range(len(order)):
        for j in np.flatnonzero(sets[i]):
            if (halves[j] & sets[i]).sum() > 2 / 3 * halves[j].sum():
                expanded[i] |= halves[j]
    return expanded


def similarity_of(
    x: Array,
    kind: str = "bidirectional",
    trusted_k: int = 5,
    graph_k: int = 0,
    trusted_weight: float = 2.0,
    mu: float = 0.23,
    sigma: float = 0.3,
    target: Array | None = None,
) -> Array:
    """F before it is cut to the clusters: table 5's OSM, which is the affinity, SSM, or BSD (eq. 12)."""
    n = len(x)
    distances = relative_distances(x)
    order = order_of(distances)
    affinity = np.exp(-distances / sigma**2)
    if kind == "original":
        return affinity
    graph, here = np.zeros((n, n)), np.arange(n)[:, None]
    nearest = order[:, 1 : 1 + (graph_k or trusted_k - 1)]
    graph[here, nearest] = affinity[here, nearest]
    graph = np.where(mutual(order, trusted_k), trusted_weight * graph, graph)
    graph = (graph + graph.T) / 2
    degrees = graph.sum(axis=1)
    root = np.array([d**-0.5 if d > 0 else 0.0 for d in degrees])
    transitions = root[:, None] * graph * root[None, :]
    alpha = 1 / (1 + mu)
    restart = (1 - alpha) * (np.eye(n) if target is None else target)
    similarity = graph
    for _ in range(10):
        if kind == "smoothed":
            similarity = alpha * transitions @ similarity @ transitions.T + restart
        else:
            walked = similarity @ transitions.T + transitions @ similarity
            similarity = alpha / 2 * walked + restart
    return similarity


def rows_of(
    x: Array,
    cluster_k: int = 20,
    trusted_k: int = 5,
    transition_k: int = 25,
    expand_k: int = 6,
    markov_k: int = 25,
    trusted_weight: float = 2.0,
    mu: float = 0.23,
    sigma: float = 0.3,
    beta: float = 0.0,
    reliability: str = "diagonal",
    similarity: str = "bidirectional",
    graph_k: int = 0,
    target: Array | None = None,
) -> Array:
    """F' of eq. 17 for every row of x."""
    n = len(x)
    distances = relative_distances(x)
    order = order_of(distances)
    affinity = np.exp(-distances / sigma**2)
    here = np.arange(n)[:, None]
    clusters, core = clusters_of(order, cluster_k), mutual(order, trusted_k)

    whole = similarity_of(x, similarity, trusted_k, graph_k, trusted_weight, mu, sigma, target)
    restricted = scaled(np.where(clusters, whole, 0))

    steps = np.zeros((n, n))
    nearest = order[:, 1:transition_k]
    steps[here, nearest] = affinity[here, nearest]
    steps = scaled(steps)
    twice = steps @ steps
    smoothed = restricted.copy()
    for i in range(n):
        trusted, members = np.flatnonzero(core[i]), np.flatnonzero(clusters[i])
        if len(trusted) <= 1 or (~core[i][members]).sum() <= 1:
            continue
        block = twice[np.ix_(trusted, trusted)]
        r = np.diag(block).mean() if reliability == "diagonal" else block.mean()
        towards = np.minimum(twice[:, trusted].mean(axis=1), r)
        towards[trusted] = r
        t, f = towards[members], restricted[i, members]
        shift = (r**2 * f.sum() - r * t @ f) / (len(members) * (r**2 + 2 * beta))
        smoothed[i, members] = (r * t + 2 * beta) / (r**2 + 2 * beta) * f + shift

    averaged = np.empty_like(smoothed)
    for i in range(n):
        over_core = smoothed[core[i]].mean(axis=0)
        over_nearest = smoothed[order[i, :expand_k]].mean(axis=0)
        averaged[i] = (trusted_weight * over_core + over_nearest) / (trusted_weight + 1)
    averaged = scaled(averaged)
    product = averaged @ averaged
    largest = np.argsort(-product, axis=1, kind="stable")[:, :markov_k]
    walk = np.zeros((n, n))
    walk[here, largest] = product[here, largest]
    walk = scaled(walk)
    return scaled(walk @ walk)


def divergences(rows: Array, others: Array) -> Array:
    """Jensen-Shannon divergence in bits of every pair of rows."""
    out = np.empty((len(rows), len(others)))
    for i, a in enumerate(rows):
        mean = (a + others) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            left = np.where(a > 0, a * np.log2(a / mean), 0)
            right = np.where(others > 0, others * np.log2(others / mean), 0)
        out[i] = (left + right).sum(axis=1) / 2
    return out


def distances_of_rows(rows: Array, others: Array, distance: str) -> Array:
    """The distances of table 6 between every pair of rows; F' itself is taken over the largest of its row."""
    if distance == "jensen_shannon":
        return divergences(rows, others)
    if distance == "cosine":
        lengths = np.outer(np.linalg.norm(rows, axis=1), np.linalg.norm(others, axis=1))
        return 1 - rows @ others.T / lengths
    if distance == "jaccard":
        return np.array([[1 - np.minimum(a, b).sum() / np.maximum(a, b).sum() for b in others] for a in rows])
    if distance == "euclidean":
        return np.array([[np.sqrt(((a - b) ** 2).sum()) for b in others] for a in rows])
    return 1 - rows / rows.max(axis=1, keepdims=True)


def shortest_paths(direct: Array, nearest: Array) -> Array:
    """Lengths of shortest paths along each item's nearest; of the two directions of an edge the shorter."""
    steps, here = np.full(direct.shape, np.inf), np.arange(len(direct))[:, None]
    steps[here, nearest] = np.maximum(direct[here, nearest], 1e-9)
    steps = np.minimum(steps, steps.T)
    return dijkstra(csr_array(np.where(np.isfinite(steps), steps, 0)), directed=False)


def final_distances(x: Array, queries: Array, omega: float = 0.3, **parameters: Any) -> Array:
    """Eq. 18 from the rows `queries` of x to all of x."""
    rows = rows_of(x, **parameters)
    return (1 - omega) * divergences(rows[queries], rows) + omega * relative_distances(x)[queries]
