"""Bidirectional similarity diffusion (CAS, section 4.1): the affinity graph and F on sparse rows.

    W    exp(-d / sigma^2) to the graph_k nearest, times kappa to the mutual ones, symmetrised         (eq. 2)
    S    D^-1/2 W D^-1/2
    F    the fixed point of F = alpha / 2 (F S + S F) + (1 - alpha) E,  alpha = 1 / (1 + mu)          (eq. 12)

With E = I the fixed point commutes with S and is the classical resolvent (1 - alpha) (I - alpha S)^-1; the
authors' program stops after ten steps from F = W, and so does the default here. Solvers of the fixed point on
whole matrices stand in dense.py. Table 5 compares F with the original similarity matrix (OSM), which is
exp(-d / sigma^2) itself, and with the similarity smoothed matrix (SSM) of regularised diffusion.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from foldwalk.core.graph import Graph
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, Float32Array, IntArray
from foldwalk.graph import as_rows, normalise
from foldwalk.rerank.diffusion.cas.dense import fixed_point
from foldwalk.rerank.fusion import distance_from_similarity
from foldwalk.walk import multiply_capped, power_series, scale_rows, values_at
from foldwalk.walk.bidirectional import two_sided_steps
from foldwalk.walk.csr import parts

STEPS = 10


def affinity_graph(
    neighbors: Neighbors, affinity: Float32Array, core: sparse.csr_array, trusted_weight: float
) -> Graph:
    """Eq. 2 with the indicator kappa on mutual neighbours, symmetrised by the mean of both directions."""
    directed = as_rows(neighbors, affinity, len(neighbors))
    directed = directed + directed.multiply(core) * np.float32(trusted_weight - 1)
    both = sparse.csr_array((directed + directed.T) * np.float32(0.5), dtype=np.float32)
    both.sort_indices()
    return Graph(both, ("relative exponential", f"trusted k={neighbors.k}"))


def diffuse(
    graph: Graph, alpha: float, solver: str, kind: str, cap: int, target: sparse.csr_array | None = None
) -> sparse.csr_array:
    """F, unrestricted: "bidirectional" by the chosen solver towards E, or "smoothed" for the ablation."""
    transitions = normalise(graph, "symmetric").matrix
    if kind == "smoothed":
        return smoothed_steps(transitions, graph.matrix, alpha, cap)
    if solver == "ten_steps":
        return two_sided_steps(transitions, graph.matrix, alpha, STEPS, cap, target)
    if solver == "resolvent":
        identity = sparse.eye_array(len(graph), format="csr", dtype=np.float32)
        return power_series(transitions, identity, alpha, cap=cap) * np.float32(1 - alpha)
    return fixed_point(transitions, alpha, solver, target)


def original(
    clusters: sparse.csr_array,
    similarities_of: Callable[[IntArray, AnyArray], Float32Array],
    scale: Float32Array,
    sigma: float,
    metric: str,
) -> sparse.csr_array:
    """exp(-d / sigma^2) between each item and the members of its cluster: table 5's OSM where it counts."""
    similarities = similarities_of(*parts(clusters)[:2])
    relative = distance_from_similarity(similarities, metric) / np.repeat(scale, np.diff(clusters.indptr))
    affinity = np.exp(-relative / np.float32(sigma**2)).astype(np.float32)
    return sparse.csr_array((affinity, clusters.indices, clusters.indptr), shape=clusters.shape)


def restrict(similarity: sparse.csr_array, clusters: sparse.csr_array) -> sparse.csr_array:
    """F on the clusters only, rows scaled to sum one; members that F does not reach stay, with value zero."""
    return scale_rows(values_at(similarity, clusters))


def smoothed_steps(
    transitions: sparse.csr_array, start: sparse.csr_array, alpha: float, cap: int
) -> sparse.csr_array:
    """F <- alpha S F S + (1 - alpha) I (Bai et al. 2019), ten steps: table 5's SSM."""
    restart = sparse.eye_array(transitions.shape[0], format="csr", dtype=np.float32) * np.float32(1 - alpha)
    similarity = start
    for _ in range(STEPS):
        inner = multiply_capped(similarity, transitions, cap)
        similarity = sparse.csr_array(multiply_capped(transitions, inner, cap) * np.float32(alpha) + restart)
    return similarity
