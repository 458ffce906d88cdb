"""Diffusion over several graphs at once, whose weights follow from what was diffused.

The first step of J. Luo, W. Wu, H. Yao, L. Yu and C. Xu, "Locality preserving Markovian transition for
instance retrieval", ICML 2025, in place of eq. 12 of CAS. Graph v joins each item to its k_v nearest as eq. 2
does and has the transitions S_v; m graphs have weights beta on the simplex, all equal at first:

    alpha_v   beta_v / (mu / m + sum beta)
    F         <- sum_v alpha_v ((S_v F + F S_v) / 2 - I) + I                          ten steps
    H_v       (|F|^2 - <F, S_v F>) / n
    beta_i    <- clip((L (beta_i + beta_j) + H_j - H_i) / (2 L), 0, beta_i + beta_j)  for every pair i, j
    beta_j    <- what is left of their sum

Three rounds of ten steps, the weights anew before the second and the third. The betas sum to one. With
S = sum_v beta_v S_v and alpha = 1 / (1 + mu / m) a step is F <- alpha / 2 (S F + F S) + (1 - alpha) I, that
of one graph. F starts from the mean of the graphs, as it starts from W with one. Where there is one graph
there is nothing to weigh: one round, and the F of CAS with that graph.

Ours: the pairs are gone through until nothing moves, which is the least of sum beta_v H_v + L / 2 |beta|^2 on
the simplex, in whatever order they are taken. H_v is a mean over the items, where the authors sum over about
5,000 of them and take L = 1,000: L is 0.2 here, and the weights do not depend on how many items there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy import sparse

from foldwalk.core.graph import Graph
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import Float32Array, Float64Array
from foldwalk.graph import normalise
from foldwalk.rerank.diffusion.cas.similarity import STEPS, affinity_graph
from foldwalk.walk.along import products_along
from foldwalk.walk.bidirectional import two_sided_steps

ROUNDS = 3
EVENNESS = 0.2  # L
SETTLED = 1e-9  # a weight that moves by less stands still


def affinity_graphs(
    neighbors: Neighbors,
    affinity: Float32Array,
    core: sparse.csr_array,
    trusted_weight: float,
    sizes: Sequence[int],
) -> list[Graph]:
    """Eq. 2 for each number of others; edges to the core count more in every graph."""
    graphs = []
    for size in sizes:
        nearest = neighbors.first(min(size, neighbors.k))
        graphs.append(affinity_graph(nearest, affinity[:, : nearest.k], core, trusted_weight))
    return graphs


def diffuse_over(graphs: Sequence[Graph], mu: float, cap: int) -> tuple[sparse.csr_array, Float64Array]:
    """F, unrestricted, and the weights of the graphs by which its last steps were made."""
    transitions = [normalise(graph, "symmetric").matrix for graph in graphs]
    count = len(graphs)
    alpha, weights = 1 / (1 + mu / count), np.full(count, 1 / count)
    similarity = mixed([graph.matrix for graph in graphs], weights)
    for done in range(ROUNDS if count > 1 else 1):
        if done:
            weights = weigh(disagreement(similarity, transitions), weights)
        similarity = two_sided_steps(mixed(transitions, weights), similarity, alpha, STEPS, cap)
    return similarity, weights


def mixed(matrices: Sequence[sparse.csr_array], weights: Float64Array) -> sparse.csr_array:
    total = matrices[0] * np.float32(weights[0])
    for matrix, weight in zip(matrices[1:], weights[1:], strict=True):
        total = total + matrix * np.float32(weight)
    result = sparse.csr_array(total, dtype=np.float32)
    result.sort_indices()
    return result


def disagreement(similarity: sparse.csr_array, transitions: Sequence[sparse.csr_array]) -> Float64Array:
    """H_v, a mean over the items: how much neighbours in graph v differ in what was diffused to them."""
    widest = max(transitions, key=lambda matrix: int(matrix.nnz))  # the edges of all the others are among its
    products = products_along(widest, similarity)
    squares = float(np.square(similarity.data, dtype=np.float64).sum())
    shared = [float(matrix.multiply(products).sum(dtype=np.float64)) for matrix in transitions]
    return np.asarray((squares - np.array(shared)) / similarity.shape[0], dtype=np.float64)


def weigh(disagreements: Float64Array, weights: Float64Array) -> Float64Array:
    """beta: more to the graphs that agree, pair by pair, until nothing moves."""
    weights = weights.copy()
    moved = 1.0
    while moved > SETTLED:
        before = weights.copy()
        for i, j in combinations(range(len(weights)), 2):
            both = weights[i] + weights[j]
            free = (EVENNESS * both + disagreements[j] - disagreements[i]) / (2 * EVENNESS)
            weights[i] = np.clip(free, 0, both)
            weights[j] = both - weights[i]
        moved = float(np.abs(weights - before).max())
    return weights
