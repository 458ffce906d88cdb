"""An unseen query beside the stored rows: the same steps for one more row, nothing stored is changed.

Whether a stored item j would count the query among its own k nearest is known from j's similarity to its k-th
neighbour. With that, the query's edges, core and cluster are what they would be had it joined. Rows of the
others are taken as stored, without the query, and the diffusion of the query's row is its fixed point given
theirs: F_q = (1 - alpha) e_q + alpha sum_j S_qj F_j. The query's own column is number n.
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
from foldwalk.rerank.diffusion.cas.parameters import CASParams
from foldwalk.rerank.diffusion.cas.smoothing import smooth_row
from foldwalk.walk.csr import parts
from foldwalk.walk.rows import keep_largest, scatter
from foldwalk.walk.scratch import blank

GUIDED, NONE, AVERAGE = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Stored:
    """What fitting keeps for unseen queries: rows of the n items, and similarities to k-th neighbours."""

    scale: Float32Array
    radius_cluster: Float32Array
    radius_trusted: Float32Array
    radius_transition: Float32Array
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

    @cached_property
    def arrays(self) -> tuple[AnyArray, ...]:
        """The matrices as the kernel takes them, converted once."""
        whole = (
            self.diffused,
            self.transitions,
            self.transitions_back,
            self.smoothed,
            self.averaged,
            self.walk,
        )
        return (*parts(self.halves)[:2], *(array for matrix in whole for array in parts(matrix)))


def query_rows(
    stored: Stored, found: Neighbors, scale: Float32Array, params: CASParams
) -> tuple[Int32Array, Float32Array, IntArray]:
    """F' of each unseen query: columns in ascending order, values that sum to one, and how many count.

    Column n is the query itself.
    """
    squared = found.squared_distances()
    near = np.where(found.ids >= 0, stored.scale[found.ids], 1)
    outward = np.exp(-squared / (np.float32(params.sigma**2) * scale[:, None])).astype(np.float32)
    inward = np.exp(-squared / (np.float32(params.sigma**2) * near)).astype(np.float32)
    n = len(stored.scale)
    width = min(params.markov_k * (params.markov_k + 1), n + 1)
    ids = np.empty((len(found), width), np.int32)
    values = np.empty((len(found), width), np.float32)
    sizes = np.zeros(len(found), np.int64)
    smoothing = {"guided": GUIDED, "none": NONE, "average": AVERAGE}[params.smoothing]
    threads = min(numba.get_num_threads(), len(found))
    kernel: Any = _rows
    kernel(
        found.ids, found.similarities, outward, inward,
        stored.radius_cluster, stored.radius_trusted, stored.radius_transition,
        stored.degree, stored.affinity_sum, stored.returning,
        *stored.arrays,
        blank((3, threads, n + 1), 0, np.float32), blank((2, threads, n + 1), -1, np.int32),
        np.array([params.cluster_k, params.trusted_k, params.transition_k, params.expand_k, params.markov_k]),
        np.float32(1 / (1 + params.mu)), np.float32(params.trusted_weight), np.float32(params.beta),
        params.clusters == "reciprocal", smoothing, params.reliability == "block", ids, values, sizes,
    )  # fmt: skip
    return ids, values, sizes


@njit(cache=True, parallel=True)
def _rows(
    near: Int32Array,
    similarity: Float32Array,
    outward: Float32Array,
    inward: Float32Array,
    radius_cluster: Float32Array,
    radius_trusted: Float32Array,
    radius_transition: Float32Array,
    degree: Float32Array,
    affinity_sum: Float32Array,
    returning: Float32Array,
    h_indptr: AnyArray, h_indices: AnyArray,
    f_indptr: AnyArray, f_indices: AnyArray, f_data: AnyArray,
    m_indptr: AnyArray, m_indices: AnyArray, m_data: AnyArray,
    b_indptr: AnyArray, b_indices: AnyArray, b_data: AnyArray,
    s_indptr: AnyArray, s_indices: AnyArray, s_data: AnyArray,
    g_indptr: AnyArray, g_indices: AnyArray, g_data: AnyArray,
    t_indptr: AnyArray, t_indices: AnyArray, t_data: AnyArray,
    zeros: AnyArray,
    unmarked: AnyArray,
    sizes_k: IntArray,
    alpha: Scalar,
    kappa: Scalar,
    beta: Scalar,
    reciprocal: bool,
    smoothing: int,
    block_mean: bool,
    out_ids: Int32Array,
    out_values: Float32Array,
    out_sizes: IntArray,
) -> None:  # fmt: skip
    count, width = near.shape
    n = degree.shape[0]
    cluster_k, trusted_k, transition_k = sizes_k[0], sizes_k[1], sizes_k[2]
    expand_k, markov_k = sizes_k[3], sizes_k[4]
    zero, one = np.float32(0), np.float32(1)
    chunks = zeros.shape[1]
    for chunk in prange(chunks):
        scratch, to_query, toward_core = zeros[0, chunk], zeros[1, chunk], zeros[2, chunk]
        in_set, in_union = unmarked[0, chunk], unmarked[1, chunk]
        touched = np.empty(n + 2, np.int32)
        members = np.empty(n + 1, np.int32)
        row_ids = np.empty(n + 1, np.int32)
        row_values = np.empty(n + 1, np.float32)
        walk_ids = np.empty(markov_k + 1, np.int32)
        walk_values = np.empty(markov_k + 1, np.float32)
        core = np.empty(trusted_k, np.int32)
        for q in range(chunk * count // chunks, (chunk + 1) * count // chunks):
            known = 0
            while known < width and near[q, known] >= 0:
                known += 1
            # Edges (eq. 2), core, and the query's diffused row.
            cores = 0
            total = zero
            weights = np.zeros(known, np.float32)
            for place in range(known):
                j = near[q, place]
                chosen, choosing = place < trusted_k - 1, similarity[q, place] >= radius_trusted[j]
                weight = zero
                if chosen:
                    weight += outward[q, place]
                if choosing:
                    weight += inward[q, place]
                if chosen and choosing:
                    weight *= kappa
                    core[cores] = j
                    cores += 1
                weights[place] = weight / 2
                total += weight / 2
            scratch[n] = one - alpha
            touched[0] = n
            reached = 1
            for place in range(known):
                if weights[place] > 0:
                    j = near[q, place]
                    edge = weights[place] / np.sqrt(total * max(degree[j], weights[place]))
                    reached = scatter(
                        f_indices,
                        f_data,
                        f_indptr[j],
                        f_indptr[j + 1],
                        alpha * edge,
                        scratch,
                        touched,
                        reached,
                    )
            # The cluster (eq. 4), and the row on it, scaled to sum one.
            members[0] = n
            in_set[n] = q
            in_union[n] = q
            size = 1
            for place in range(min(known, cluster_k)):
                j = near[q, place]
                if not reciprocal or similarity[q, place] >= radius_cluster[j]:
                    members[size] = j
                    in_set[j] = q
                    in_union[j] = q
                    size += 1
            if reciprocal:
                for m in range(1, size):
                    begin, end = h_indptr[members[m]], h_indptr[members[m] + 1]
                    common = 0
                    for h in range(begin, end):
                        if in_set[h_indices[h]] == q:
                            common += 1
                    if 3 * common > 2 * (end - begin):
                        for h in range(begin, end):
                            other = h_indices[h]
                            if in_union[other] != q:
                                in_union[other] = q
                                members[size] = other
                                size += 1
            total = zero
            for m in range(size):
                row_values[m] = scratch[members[m]]
                total += row_values[m]
            for t in range(reached):
                scratch[touched[t]] = 0
            for m in range(size):
                row_ids[m] = members[m]
                row_values[m] /= total
            # Smoothing (eq. 13 to 15).
            if smoothing == GUIDED and cores > 0:
                outside = 0
                for place in range(cores):
                    in_set[core[place]] = -2
                in_set[n] = -2
                for m in range(size):
                    if in_set[members[m]] != -2:
                        outside += 1
                if outside > 1:
                    _smooth_query(
                        near[q, :known], similarity[q], outward[q], inward[q],
                        radius_transition, affinity_sum, returning,
                        m_indptr, m_indices, m_data, b_indptr, b_indices, b_data,
                        transition_k, core[:cores], block_mean, beta, in_set, to_query, toward_core,
                        row_ids[:size], row_values[:size],
                    )  # fmt: skip
                for place in range(cores):
                    in_set[core[place]] = -1
                in_set[n] = -1
            for m in range(size):
                in_set[members[m]] = -1
                in_union[members[m]] = -1
            # Averaging (eq. 16).
            if smoothing != NONE:
                nearest = min(expand_k - 1, known)
                plain = one / (nearest + 1)
                trusted = kappa / (cores + 1) if smoothing == GUIDED else zero
                whole = kappa + one if smoothing == GUIDED else one
                own_share = (trusted + plain) / whole
                reached = scatter(row_ids, row_values, 0, size, own_share, scratch, touched, 0)
                for place in range(nearest + cores * (smoothing == GUIDED)):
                    j = near[q, place] if place < nearest else core[place - nearest]
                    share = (plain if place < nearest else trusted) / whole
                    begin, end = s_indptr[j], s_indptr[j + 1]
                    reached = scatter(s_indices, s_data, begin, end, share, scratch, touched, reached)
                size = reached
                for t in range(reached):
                    row_ids[t] = touched[t]
                    row_values[t] = scratch[touched[t]]
                    scratch[touched[t]] = 0
            _scale(row_values, size)
            # Two steps of the walk (eq. 17): G_q G, its largest, then T_q T.
            reached = 0
            for m in range(size):
                if row_ids[m] == n:
                    reached = scatter(row_ids, row_values, 0, size, row_values[m], scratch, touched, reached)
                else:
                    begin, end = g_indptr[row_ids[m]], g_indptr[row_ids[m] + 1]
                    weight = row_values[m]
                    reached = scatter(g_indices, g_data, begin, end, weight, scratch, touched, reached)
            steps = keep_largest(scratch, touched, reached, markov_k, zero, walk_ids, walk_values)
            _scale(walk_values, steps)
            reached = 0
            for m in range(steps):
                if walk_ids[m] == n:
                    reached = scatter(
                        walk_ids, walk_values, 0, steps, walk_values[m], scratch, touched, reached
                    )
                else:
                    begin, end = t_indptr[walk_ids[m]], t_indptr[walk_ids[m] + 1]
                    weight = walk_values[m]
                    reached = scatter(t_indices, t_data, begin, end, weight, scratch, touched, reached)
            out_sizes[q] = keep_largest(
                scratch, touched, reached, out_ids.shape[1], zero, out_ids[q], out_values[q]
            )
            _scale(out_values[q], out_sizes[q])


@njit()
def _scale(values: Float32Array, size: Scalar) -> None:
    total = np.float32(0)
    for i in range(size):
        total += values[i]
    for i in range(size):
        values[i] /= total


@njit()
def _smooth_query(
    near: AnyArray, similarity: AnyArray, outward: AnyArray, inward: AnyArray,
    radius: AnyArray, affinity_sum: AnyArray, returning: AnyArray,
    m_indptr: AnyArray, m_indices: AnyArray, m_data: AnyArray,
    b_indptr: AnyArray, b_indices: AnyArray, b_data: AnyArray,
    transition_k: Scalar, core: AnyArray, block_mean: bool, beta: Scalar,
    in_core: AnyArray, to_query: AnyArray, toward_core: AnyArray,
    ids: AnyArray, values: AnyArray,
) -> None:  # fmt: skip
    """Eq. 15 for the query's row; `in_core` is -2 on the core and on the query, number n."""
    n = radius.shape[0]
    share = np.float32(1.0 / (core.shape[0] + 1))
    leaving = np.float32(0)
    for place in range(min(near.shape[0], transition_k - 1)):
        leaving += outward[place]
    r = np.float32(0)
    from_query = np.float32(0)
    for place in range(near.shape[0]):
        j = near[place]
        if similarity[place] >= radius[j]:
            to_query[j] = inward[place] / affinity_sum[j]
            toward_core[j] += to_query[j] * share
        if place < transition_k - 1 and leaving > 0:
            r += outward[place] / leaving * to_query[j]
            if in_core[j] == -2:
                from_query += outward[place] / leaving
    toward_core[n] = from_query * share
    for member in core:
        r += returning[member]
        for edge in range(b_indptr[member], b_indptr[member + 1]):
            toward_core[b_indices[edge]] += b_data[edge] * share
    r *= share
    if block_mean:
        r = np.float32(0)
        for member in core:
            r += to_query[member] * toward_core[n]
            for edge in range(m_indptr[member], m_indptr[member + 1]):
                r += m_data[edge] * toward_core[m_indices[edge]]
        for place in range(min(near.shape[0], transition_k - 1)):
            if leaving > 0:
                r += outward[place] / leaving * toward_core[near[place]]
        r *= share
    towards = np.empty(ids.shape[0], np.float32)
    for m in range(ids.shape[0]):
        j = ids[m]
        if in_core[j] == -2:
            towards[m] = r
        else:
            reach = to_query[j] * toward_core[n]
            for edge in range(m_indptr[j], m_indptr[j + 1]):
                reach += m_data[edge] * toward_core[m_indices[edge]]
            towards[m] = min(reach, r)
    for j in near:
        to_query[j] = 0
        toward_core[j] = 0
    toward_core[n] = 0
    for member in core:
        for edge in range(b_indptr[member], b_indptr[member + 1]):
            toward_core[b_indices[edge]] = 0
    if r * r + 2 * beta > 0:
        smooth_row(values.copy(), towards, r, beta, values)
