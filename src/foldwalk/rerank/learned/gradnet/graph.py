"""What the network reads: the local graph (eq. 2, 8), codes Z of the global graph (eq. 9), H0 (eq. 10)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from foldwalk.core.graph import Graph
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.principal import principal
from foldwalk.core.seeds import generator
from foldwalk.core.types import BoolArray, Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.graph import (
    anchor_graph,
    cosine_power,
    degrees,
    gaussian,
    inverse_distance,
    knn_affinity,
    normalise,
)
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams
from foldwalk.rerank.learned.shared.space import Lift


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
    return on_graph(input_features(vectors, params, seed), neighbors, params)


def on_graph(features: Float32Array, neighbors: Neighbors, params: GradNetParams) -> GraphInput:
    """H0 on the graph of mutual neighbours."""
    graph = knn_affinity(neighbors, edge_weights(neighbors, params.kernel), "mutual")
    transitions, self_loop = propagation(graph, params.renormalise)
    return GraphInput(graph.matrix, transitions, self_loop, features)


def edge_weights(neighbors: Neighbors, kernel: str) -> Float32Array:
    """The similarity s of eq. 8."""
    if kernel == "inverse_distance":
        return inverse_distance(neighbors)
    return gaussian(neighbors, "median") if kernel == "gaussian" else cosine_power(neighbors, 1.0)


def propagation(graph: Graph, renormalise: bool) -> tuple[sparse.csr_array, Float32Array]:
    """S of eq. 2 and the diagonal beside it: I, or both as the off-diagonal and diagonal parts of eq. 7."""
    if not renormalise:
        return normalise(graph, "symmetric").matrix, np.ones(len(graph), np.float32)
    inverse = 1 / (1 + degrees(graph))
    root = sparse.diags_array(np.sqrt(inverse))
    return sparse.csr_array(root @ graph.matrix @ root, dtype=np.float32), inverse.astype(np.float32)


def input_features(vectors: Vectors, params: GradNetParams, seed: int) -> Float32Array:
    """H0 = [X, Z]: the vectors, rotated if they have more dimensions than items, beside their codes."""
    parts = [] if params.codes_only else [rotate(as_directions(vectors, params.metric, params.centre))]
    if params.anchors or params.codes_only:
        # Rotated, the vectors have the same distances in fewer dimensions, so k-means has less to do.
        same = Vectors(rotate(vectors.values))
        seeds = generator(seed, "gradnet anchors").integers(2**32, size=params.codebooks)
        books = [codes(same, max(params.anchors, 1), params.nearest_anchors, int(one)) for one in seeds]
        # What one k-means finds depends on where it began; side by side their lengths make up one code's.
        parts.append(np.hstack(books) / np.float32(np.sqrt(len(books))))
    features = np.hstack(parts)
    features[has_no_direction(vectors, params.metric)] = 0
    return features


def codes(vectors: Vectors, anchors: int, nearest: int, seed: int) -> Float32Array:
    """Z of eq. 9: each item as a mixture of its nearest k-means centres, rows sum to one."""
    return np.asarray(anchor_graph(vectors, anchors, nearest, seed).weights.toarray(), np.float32)


def has_no_direction(vectors: Vectors, metric: str) -> BoolArray:
    """Zero rows under the cosine: they find nothing and nobody finds them."""
    return vectors.zero_rows if metric == "cosine" else np.zeros(len(vectors), np.bool_)


def as_directions(vectors: Vectors, metric: str, centre: bool) -> Float32Array:
    """Vectors whose cosines tell what their metric tells; points of a Euclidean space are lifted to a sphere.

    Unit vectors are that already. Pixels and most features are positive and all point much the same way; what
    they share tells nothing and drowns the rest in the first layer, so their mean is taken off.
    """
    if metric != "cosine":
        return Lift.learn(vectors.values).place(vectors.values)
    if not centre:
        return vectors.values
    mean = vectors.values.mean(axis=0, dtype=np.float64)
    return Vectors(np.ascontiguousarray(vectors.values - mean, np.float32)).unit().values


def rotate(features: Float32Array) -> Float32Array:
    """At most n dimensions for n items: the same lengths and angles along the principal axes of the rows."""
    n, dim = features.shape
    if dim <= n:
        return features
    wide = features.astype(np.float64)
    squares, axes = principal(wide @ wide.T)
    kept = squares > squares[0] * 1e-12
    kept[0] = True  # one dimension at least, even where all is zero
    axes = axes[:, kept] * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(n)])[kept]
    return np.ascontiguousarray(axes * np.sqrt(squares[kept]), np.float32)
