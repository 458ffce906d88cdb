"""The local graph: mutual neighbours and the weights of their edges (eq. 2, 7, 8)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from foldwalk.core.graph import Graph
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, Float32Array, Float64Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.graph import (
    cosine_power,
    degrees,
    gaussian,
    inverse_distance,
    knn_affinity,
    normalise,
    radius,
)
from foldwalk.rerank.kept import Kept
from foldwalk.rerank.learned.gradnet.inputs import Inputs
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams


@dataclass(frozen=True, eq=False)
class GraphInput:
    """Affinity A and transitions S (both n x n, sparse), the self-loop of each item, and H0 (n, d0)."""

    affinity: sparse.csr_array
    transitions: sparse.csr_array
    self_loop: Float32Array
    features: Float32Array

    def __len__(self) -> int:
        return len(self.features)


def reordered(neighbors: Neighbors, order: IntArray) -> Neighbors:
    """The same neighbours when item order[i] is called i."""
    new_name = np.full(len(order) + 1, -1, np.int32)  # the last place stands for "no neighbour", -1
    new_name[order] = np.arange(len(order), dtype=np.int32)
    return Neighbors(new_name[neighbors.ids[order]], neighbors.similarities[order], neighbors.metric)


def graph_input(vectors: Vectors, neighbors: Neighbors, params: GradNetParams, seed: int) -> GraphInput:
    return on_graph(Inputs.learn(vectors, params, seed).place(vectors), neighbors, params)


def on_graph(features: Float32Array, neighbors: Neighbors, params: GradNetParams) -> GraphInput:
    """H0 on the graph of mutual neighbours."""
    graph = knn_affinity(neighbors, edge_weights(neighbors, params.kernel), "mutual")
    transitions, self_loop = propagation(graph, params.renormalise)
    return GraphInput(graph.matrix, transitions, self_loop, features)


def edge_weights(neighbors: Neighbors, kernel: str, width: float | None = None) -> Float32Array:
    """The similarity s of eq. 8; the Gaussian has the given width, or the median distance of these."""
    if kernel == "inverse_distance":
        return inverse_distance(neighbors)
    if kernel == "cosine":
        return cosine_power(neighbors, 1.0)
    return gaussian(neighbors, "median") if width is None else gaussian(neighbors, "fixed", width)


def propagation(graph: Graph, renormalise: bool) -> tuple[sparse.csr_array, Float32Array]:
    """S of eq. 2 and the diagonal beside it: I, or both as the off-diagonal and diagonal parts of eq. 7."""
    if not renormalise:
        return normalise(graph, "symmetric").matrix, np.ones(len(graph), np.float32)
    inverse = 1 / (1 + degrees(graph))
    root = sparse.diags_array(np.sqrt(inverse))
    return sparse.csr_array(root @ graph.matrix @ root, dtype=np.float32), inverse.astype(np.float32)


@dataclass(frozen=True, eq=False)
class Places:
    """What a newcomer must know of a graph to find its own place in it.

    k, each item's degree and its similarity to its k-th neighbour, and the width of the Gaussian.
    """

    k: int
    degrees: Float64Array
    radius: Float32Array
    width: float

    @classmethod
    def of(cls, affinity: sparse.csr_array, neighbors: Neighbors) -> Places:
        """Of a graph that joins mutual ones of these `neighbors`."""
        squared = neighbors.squared_distances()
        known = squared[np.isfinite(squared)]
        width = float(np.sqrt(np.median(known))) if len(known) else 1.0
        return cls(neighbors.k, degrees(Graph(affinity)), radius(neighbors, neighbors.k), width)

    def edges(self, found: Neighbors, params: GradNetParams) -> tuple[Float32Array, Float32Array]:
        """S of newcomers at their nearest items `found`, zero where they are not mutual, and the self-loops.

        Mutual is who would count the newcomer among its own k nearest.
        """
        ids = found.ids
        mutual = (ids >= 0) & (found.similarities >= self.radius[ids])
        weights = np.where(mutual, edge_weights(found, params.kernel, self.width), 0).astype(np.float64)
        own, theirs = weights.sum(axis=1, keepdims=True), self.degrees[ids] + weights
        if params.renormalise:
            own, theirs = own + 1, theirs + 1
        product = own * theirs
        transitions = np.divide(weights, np.sqrt(product), out=np.zeros_like(weights), where=product > 0)
        loops = 1 / own[:, 0] if params.renormalise else np.ones(len(ids))
        return transitions.astype(np.float32), loops.astype(np.float32)

    def spread(self, places: IntArray, n: int) -> Places:
        """The same among n items, item i being places[i] there; the others count nobody as near."""
        sums, radii = np.zeros(n), np.full(n, np.inf, np.float32)
        sums[places], radii[places] = self.degrees, self.radius
        return replace(self, degrees=sums, radius=radii)

    def state(self) -> dict[str, AnyArray]:
        return {
            "k": np.array(self.k),
            "degrees": self.degrees,
            "radius": self.radius,
            "width": np.array(self.width),
        }

    @classmethod
    def restore(cls, kept: Kept, n: int) -> Places:
        return cls(
            kept.whole_number("k", 0, n),
            kept.numbers("degrees", n, low=0, dtype=np.float64),
            kept.numbers("radius", n, infinite=True),
            kept.number("width", low=0),
        )
