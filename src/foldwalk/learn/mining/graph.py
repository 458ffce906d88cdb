"""The graph the walk goes along, its manifold neighbours and its modes (sections 3.2 and 3.3)."""

from __future__ import annotations

import numpy as np

from foldwalk.core.graph import Graph
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.progress import task
from foldwalk.core.seeds import generator
from foldwalk.core.types import Float64Array, IntArray
from foldwalk.graph import cosine_power, degrees, knn_affinity, normalise
from foldwalk.rerank.order import Reached
from foldwalk.walk import NumberedSystem, columns_per_block

# The paper's 20 steps find 0.98 of CUB's exact positives, 30 find 0.996: docs/metric-learning-results.md.
STEPS = 30
COLUMNS = 64  # solved at once: what a step reads stays in the caches


def mutual_graph(neighbors: Neighbors, k: int, gamma: float = 3.0) -> Graph:
    """Eq. 1: an edge of weight [x'y]_+^gamma where each is among the other's k nearest."""
    nearest = neighbors.first(min(k, neighbors.k))
    return knn_affinity(nearest, cosine_power(nearest, gamma), "mutual")


def manifold_neighbors(
    graph: Graph, anchors: IntArray, k: int, alpha: float = 0.99, tolerance: float = 1e-10, steps: int = STEPS
) -> Neighbors:
    """NN^m: the k items most similar to each anchor on the manifold, (anchors, k); the anchor left out.

    Similarities are columns of (1 - alpha)(I - alpha D^-1/2 A D^-1/2)^-1 (eq. 3 and 4), found by conjugate
    gradients for many anchors at once. What the walk did not reach is no neighbour: rows may end in -1.
    """
    system = NumberedSystem(normalise(graph, "symmetric").matrix)
    blocks = []
    size = columns_per_block(len(graph), most=COLUMNS)
    with task("manifold neighbours", len(anchors)) as advance:
        for start in range(0, len(anchors), size):
            own = anchors[start : start + size]
            restart = np.zeros((len(graph), len(own)), np.float32)
            restart[own, np.arange(len(own))] = 1 - alpha
            similar = system.solve(restart, alpha, tolerance, steps)
            blocks.append(Reached.from_dense(np.ascontiguousarray(similar.T), k, len(graph), own))
            advance(len(own))
    found = (
        Reached.join(blocks) if blocks else Reached(np.zeros((0, k), np.int32), np.zeros((0, k), np.float32))
    )
    return Neighbors(found.ids, found.scores, metric="manifold", how=f"{len(graph)} items, alpha {alpha}")


def stationary_distribution(graph: Graph) -> Float64Array:
    """pi with pi P = pi for P = D^-1 A on the largest component, 0 elsewhere.

    On an undirected graph pi is the degree over the sum of degrees: power iteration is not needed.
    """
    _, component = graph.components()
    weight = degrees(graph)
    weight[component != np.bincount(component).argmax()] = 0
    total = weight.sum()
    return np.asarray(weight / total if total > 0 else weight)


def modes(graph: Graph, count: int) -> IntArray:
    """Strict local maxima of the stationary distribution, the `count` most probable first."""
    probability = stationary_distribution(graph)
    rows = np.repeat(np.arange(len(graph)), np.diff(graph.matrix.indptr))
    beaten = rows[probability[graph.matrix.indices] >= probability[rows]]
    peak = probability > 0
    peak[beaten] = False
    peaks = np.flatnonzero(peak)
    return np.asarray(peaks[np.argsort(-probability[peaks], kind="stable")[:count]])


def random_anchors(items: int, count: int, seed: int) -> IntArray:
    """The baseline: any items, each at most once."""
    return np.sort(generator(seed, "mining anchors").choice(items, size=min(count, items), replace=False))
