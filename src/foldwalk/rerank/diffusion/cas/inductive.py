"""An unseen query beside the stored rows: the same steps for one more row, nothing stored is changed.

Whether a stored item j would count the query among its own k nearest is known from j's similarity to its k-th
neighbour. With that, the query's edges, core and cluster are what they would be had it joined. Rows of the
others are taken as stored, without the query, and the diffusion of the query's row is its fixed point given
theirs: F_q = (1 - alpha) e_q + alpha sum_j S_qj F_j. An E that is not the identity says nothing of the query,
so that this holds for every E. The query's own column is number n. The steps, one equation each, stand in
unseen.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numba
import numpy as np
from numba import njit, prange
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray, Scalar
from foldwalk.core.vectors import Vectors
from foldwalk.rerank.diffusion.cas import unseen
from foldwalk.rerank.diffusion.cas.parameters import CASParams
from foldwalk.rerank.kept import Kept
from foldwalk.walk.csr import Parts, parts
from foldwalk.walk.rows import keep_largest
from foldwalk.walk.scratch import blank

GUIDED, NONE, AVERAGE = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Stored:
    """What fitting keeps for unseen queries: rows of the n items, and similarities to k-th neighbours."""

    scale: Float32Array
    radius_cluster: Float32Array
    radius_trusted: Float32Array
    radius_transition: Float32Array
    graph_radius: Float32Array  # (graphs, n), as `degree`
    graph_weights: Float32Array
    degree: Float32Array
    affinity_sum: Float32Array
    returning: Float32Array
    halves: sparse.csr_array
    diffused: sparse.csr_array
    transitions: sparse.csr_array
    transitions_back: sparse.csr_array
    smoothed: sparse.csr_array
    averaged: sparse.csr_array
    walk: sparse.csr_array

    @classmethod
    def restore(cls, kept: Kept, n: int, graphs: int) -> Stored:
        """As it was kept, of n items and so many graphs."""
        radii = ("radius_cluster", "radius_trusted", "radius_transition")
        sums = ("scale", "affinity_sum", "returning")
        rows = ("halves", "transitions", "transitions_back", "smoothed", "averaged", "walk")
        return cls(
            **{name: kept.numbers(name, n, infinite=True) for name in radii},
            **{name: kept.numbers(name, n, low=0) for name in sums},
            **{name: kept.rows(name, n, n) for name in rows},
            diffused=kept.rows("diffused", n, n, rising=False),
            graph_radius=kept.numbers("graph_radius", graphs, n, infinite=True),
            graph_weights=kept.numbers("graph_weights", graphs, low=0),
            degree=kept.numbers("degree", graphs, n, low=0),
        )

    @cached_property
    def arrays(self) -> tuple[tuple[AnyArray, ...], ...]:
        """All of it as the kernel takes it, converted once."""
        whole = (
            self.halves,
            self.diffused,
            self.transitions,
            self.transitions_back,
            self.smoothed,
            self.averaged,
            self.walk,
        )
        return (
            (self.radius_cluster, self.radius_trusted, self.radius_transition),
            (self.affinity_sum, self.returning),
            (self.graph_radius, self.degree, self.graph_weights),
            *(parts(matrix) for matrix in whole),
        )


def query_rows(
    stored: Stored,
    found: Neighbors,
    scale: Float32Array,
    params: CASParams,
    queries: Vectors,
    items: Vectors,
) -> tuple[Int32Array, Float32Array, IntArray]:
    """F' of each unseen query: columns in ascending order, values that sum to one, and how many count.

    Column n is the query itself. The vectors are looked at for similarity="original" alone.
    """
    squared = found.squared_distances()
    near = np.where(found.ids >= 0, stored.scale[found.ids], 1)
    width_of_query = np.float32(params.sigma**2) * scale
    outward = np.exp(-squared / width_of_query[:, None]).astype(np.float32)
    inward = np.exp(-squared / (np.float32(params.sigma**2) * near)).astype(np.float32)
    n = len(stored.scale)
    width = min(params.markov_k * (params.markov_k + 1), n + 1)
    ids = np.empty((len(found), width), np.int32)
    values = np.empty((len(found), width), np.float32)
    sizes = np.zeros(len(found), np.int64)
    smoothing = {"guided": GUIDED, "none": NONE, "average": AVERAGE}[params.smoothing]
    graph_sizes = params.graph_sizes
    threads = min(numba.get_num_threads(), len(found))
    original, nothing = params.similarity == "original", np.empty((0, 0), np.float32)
    vectors = (queries.values, items.values) if original else (nothing, nothing)
    kernel: Any = _rows
    kernel(
        found.ids, found.similarities, outward, inward,
        *stored.arrays,
        blank((3, threads, n + 1), 0, np.float32), blank((threads, n + 1), -1, np.int32),
        (*vectors, width_of_query), params.metric == "cosine", original,
        (params.cluster_k, params.trusted_k, params.transition_k, params.expand_k, params.markov_k),
        np.array(graph_sizes), np.float32(1 / (1 + params.mu / len(graph_sizes))),
        np.float32(params.trusted_weight), np.float32(params.beta),
        params.clusters == "reciprocal", smoothing, params.reliability == "block", ids, values, sizes,
    )  # fmt: skip
    return ids, values, sizes


@njit(cache=True, parallel=True)
def _rows(
    near: Int32Array,
    similarity: Float32Array,
    outward: Float32Array,
    inward: Float32Array,
    radii: tuple[Float32Array, Float32Array, Float32Array],
    sums: tuple[Float32Array, Float32Array],
    graphs: tuple[Float32Array, Float32Array, Float32Array],
    halves: Parts,
    diffused: Parts,
    transitions: Parts,
    backward: Parts,
    smoothed: Parts,
    averaged: Parts,
    walk: Parts,
    zeros: AnyArray,
    unmarked: AnyArray,
    vectors: tuple[Float32Array, Float32Array, Float32Array],
    cosine: bool,
    original: bool,
    sizes: tuple[int, int, int, int, int],
    graph_sizes: IntArray,
    alpha: Scalar,
    kappa: Scalar,
    beta: Scalar,
    reciprocal: bool,
    smoothing: int,
    block_mean: bool,
    out_ids: Int32Array,
    out_values: Float32Array,
    out_sizes: IntArray,
) -> None:
    radius_cluster, radius_trusted, radius_transition = radii
    affinity_sum, returning = sums
    cluster_k, trusted_k, transition_k, expand_k, markov_k = sizes
    queries, items, width = vectors
    n, chunks = returning.shape[0], zeros.shape[1]
    for chunk in prange(chunks):
        scratch, to_query, toward_core = zeros[0, chunk], zeros[1, chunk], zeros[2, chunk]
        mark, touched = unmarked[chunk], np.empty(n + 2, np.int32)
        ids, values = np.empty(n + 1, np.int32), np.empty(n + 1, np.float32)
        walk_ids, walk_values = np.empty(markov_k + 1, np.int32), np.empty(markov_k + 1, np.float32)
        weights, core = np.empty(near.shape[1], np.float32), np.empty(trusted_k, np.int32)
        mutual = np.empty(near.shape[1], np.bool_)
        for q in range(chunk * near.shape[0] // chunks, (chunk + 1) * near.shape[0] // chunks):
            known = 0
            while known < near.shape[1] and near[q, known] >= 0:
                known += 1
            own, alike, out, back = near[q, :known], similarity[q], outward[q], inward[q]
            cores = unseen.core_of(own, alike, radius_trusted, trusted_k, mutual, core)
            size = unseen.cluster(own, alike, radius_cluster, cluster_k, reciprocal, halves, mark, ids)
            if original:
                unseen.affinities(queries[q], items, cosine, width[q], ids[:size], values)
            else:
                reached = unseen.restart(n, alpha, scratch, touched)
                for v in range(graph_sizes.shape[0]):
                    radius, degree, share = graphs[0][v], graphs[1][v], alpha * graphs[2][v]
                    unseen.edges(own, alike, out, back, mutual, radius, graph_sizes[v], kappa, weights)
                    reached = unseen.diffuse_row(
                        own, weights, degree, share, diffused, scratch, touched, reached
                    )
                unseen.restrict_row(ids, size, scratch, touched, reached, values)
            if smoothing == GUIDED and cores > 0:
                if unseen.mark_core(core[:cores], mark, ids[:size]) > 1:
                    from_query = unseen.transitions_of(
                        own, alike, out, back, radius_transition, affinity_sum, transition_k, to_query
                    )
                    unseen.smooth_query(
                        own, from_query, core[:cores], returning, transitions, backward, block_mean, beta,
                        mark, to_query, toward_core, ids[:size], values[:size],
                    )  # fmt: skip
                for member in core[:cores]:
                    mark[member] = -1
            for m in range(size):
                mark[ids[m]] = -1
            if smoothing != NONE:
                around = own[: min(expand_k - 1, known)]
                trusted, weight = core[:0], np.float32(0)
                if smoothing == GUIDED:
                    trusted, weight = core[:cores], kappa
                size = unseen.average(around, trusted, weight, smoothed, ids, values, size, scratch, touched)
            unseen.scale(values, size)
            reached = unseen.walk_on(ids, values, size, averaged, scratch, touched)
            steps = keep_largest(scratch, touched, reached, markov_k, np.float32(0), walk_ids, walk_values)
            unseen.scale(walk_values, steps)
            reached = unseen.walk_on(walk_ids, walk_values, steps, walk, scratch, touched)
            out_sizes[q] = keep_largest(
                scratch, touched, reached, out_ids.shape[1], np.float32(0), out_ids[q], out_values[q]
            )
            unseen.scale(out_values[q], out_sizes[q])
