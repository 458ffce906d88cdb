"""The steps of CAS for the row of one unseen query, one kernel for each equation.

`near` are the query's nearest items, `outward` and `inward` its affinities to them and theirs to it. Whether
an item would count the query among its own nearest, its `radius` tells. The query's own column is number n.
Work space is borrowed blank and given back blank: `scratch`, `to_query` and `toward_core` zero, `mark` -1.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from foldwalk.core.types import AnyArray, Float32Array, Int32Array, Scalar
from foldwalk.graph.reciprocal import expand_row
from foldwalk.neighbors.similarity import pair_similarity
from foldwalk.rerank.diffusion.cas.smoothing import add_columns, clear_columns, smooth_row, two_steps
from foldwalk.rerank.fusion import squared_distance
from foldwalk.walk.csr import Parts
from foldwalk.walk.rows import scatter

CORE = 2  # the mark of the core; that of the cluster is `expand_row`'s for row 0


@njit()
def core_of(
    near: Int32Array,
    similarity: Float32Array,
    radius: Float32Array,
    trusted_k: Scalar,
    mutual: AnyArray,
    core: Int32Array,
) -> Scalar:
    """xi of eq. 4, also marked by the places of the nearest; returns its size."""
    cores = 0
    for place in range(near.shape[0]):
        mutual[place] = place < trusted_k - 1 and similarity[place] >= radius[near[place]]
        if mutual[place]:
            core[cores] = near[place]
            cores += 1
    return cores


@njit()
def edges(
    near: Int32Array,
    similarity: Float32Array,
    outward: Float32Array,
    inward: Float32Array,
    mutual: AnyArray,
    radius: Float32Array,
    size: Scalar,
    kappa: Scalar,
    weights: Float32Array,
) -> None:
    """Eq. 2: the query's row of W in a graph of that size, by the places of its nearest."""
    for place in range(near.shape[0]):
        chosen, choosing = place < size, similarity[place] >= radius[near[place]]
        weight = np.float32(0)
        if chosen:
            weight += outward[place]
        if choosing:
            weight += inward[place]
        if mutual[place]:
            weight *= kappa
        weights[place] = weight / 2


@njit()
def restart(n: Scalar, alpha: Scalar, scratch: Float32Array, touched: Int32Array) -> Scalar:
    """(1 - alpha) e_q of eq. 12: the query's own column, the first that is touched."""
    scratch[n] = np.float32(1) - alpha
    touched[0] = n
    return 1


@njit()
def diffuse_row(
    near: Int32Array,
    weights: Float32Array,
    degree: Float32Array,
    alpha: Scalar,
    diffused: Parts,
    scratch: Float32Array,
    touched: Int32Array,
    reached: Scalar,
) -> Scalar:
    """Eq. 12: what one graph adds to the fixed point of the query's row of F, given those of the others."""
    indptr, indices, data = diffused
    total = 0.0
    for place in range(near.shape[0]):
        total += weights[place]
    for place in range(near.shape[0]):
        if weights[place] > 0:
            j = near[place]
            edge = weights[place] / np.sqrt(total * max(degree[j], weights[place]))
            begin, end = indptr[j], indptr[j + 1]
            reached = scatter(indices, data, begin, end, alpha * edge, scratch, touched, reached)
    return reached


@njit()
def cluster(
    near: Int32Array,
    similarity: Float32Array,
    radius: Float32Array,
    cluster_k: Scalar,
    reciprocal: Scalar,
    halves: Parts,
    mark: AnyArray,
    members: Int32Array,
) -> Scalar:
    """Eq. 4: C[q], the query first; returns its size."""
    members[0] = radius.shape[0]
    mark[members[0]] = 1
    size = 1
    for place in range(min(near.shape[0], cluster_k)):
        j = near[place]
        if not reciprocal or similarity[place] >= radius[j]:
            members[size] = j
            mark[j] = 1
            size += 1
    if reciprocal:
        size = expand_row(members, 1, size, halves[0], halves[1], mark, 0)
    return size


@njit()
def restrict_row(
    members: Int32Array,
    size: Scalar,
    scratch: Float32Array,
    touched: Int32Array,
    reached: Scalar,
    values: Float32Array,
) -> None:
    """F on the cluster alone, scaled to sum one."""
    for m in range(size):
        values[m] = scratch[members[m]]
    for t in range(reached):
        scratch[touched[t]] = 0
    scale(values, size)


@njit()
def affinities(
    query: Float32Array,
    items: Float32Array,
    cosine: Scalar,
    width: Scalar,
    members: Int32Array,
    values: Float32Array,
) -> None:
    """Table 5's OSM: exp(-d / sigma^2) between the query and its cluster, scaled to sum one."""
    values[0] = np.float32(1)
    for m in range(1, members.shape[0]):
        similarity = pair_similarity(query, items[members[m]], cosine)
        values[m] = np.exp(-squared_distance(similarity, cosine) / width)
    scale(values, members.shape[0])


@njit()
def scale(values: Float32Array, size: Scalar) -> None:
    """The first `size` values over their sum."""
    total = np.float32(0)
    for i in range(size):
        total += values[i]
    for i in range(size):
        values[i] /= total


@njit()
def mark_core(core: Int32Array, mark: AnyArray, members: Int32Array) -> Scalar:
    """Mark the core, to which the query belongs; returns how many members of the cluster are outside."""
    for member in core:
        mark[member] = CORE
    mark[members[0]] = CORE
    outside = 0
    for member in members:
        outside += mark[member] != CORE
    return outside


@njit()
def transitions_of(
    near: Int32Array,
    similarity: Float32Array,
    outward: Float32Array,
    inward: Float32Array,
    radius: Float32Array,
    affinity_sum: Float32Array,
    transition_k: Scalar,
    to_query: Float32Array,
) -> AnyArray:
    """M_qj by the places of the nearest, which is returned, and M_jq, which is put into `to_query`."""
    from_query = outward[: min(near.shape[0], transition_k - 1)].copy()
    if from_query.sum() > 0:
        scale(from_query, from_query.shape[0])
    for place in range(near.shape[0]):
        j = near[place]
        if similarity[place] >= radius[j]:
            to_query[j] = inward[place] / affinity_sum[j]
    return from_query


@njit()
def core_columns(
    near: Int32Array,
    from_query: Float32Array,
    core: Int32Array,
    backward: Parts,
    mark: AnyArray,
    to_query: Float32Array,
    toward_core: Float32Array,
) -> None:
    """v of eq. 14: the mean of the columns of M that belong to the query and its core."""
    share = np.float32(1.0 / (core.shape[0] + 1))
    for j in near:
        toward_core[j] += to_query[j] * share
    to_core = np.float32(0)
    for place in range(from_query.shape[0]):
        if mark[near[place]] == CORE:
            to_core += from_query[place]
    toward_core[toward_core.shape[0] - 1] = to_core * share
    add_columns(core, share, backward, toward_core)


@njit()
def reliability(
    near: Int32Array,
    from_query: Float32Array,
    core: Int32Array,
    returning: Float32Array,
    transitions: Parts,
    to_query: Float32Array,
    toward_core: Float32Array,
    block_mean: Scalar,
) -> Scalar:
    """r of eq. 13: the mean over the core of how probably it is back after two steps, or in the core."""
    r = np.float32(0)
    if block_mean:
        for member in core:
            r = to_core(r, transitions, member, to_query, toward_core)
        for place in range(from_query.shape[0]):
            r += from_query[place] * toward_core[near[place]]
    else:
        for place in range(from_query.shape[0]):
            r += from_query[place] * to_query[near[place]]
        for member in core:
            r += returning[member]
    return r * np.float32(1.0 / (core.shape[0] + 1))


@njit()
def to_core(
    start: Scalar, transitions: Parts, item: Scalar, to_query: Float32Array, toward_core: Float32Array
) -> Scalar:
    """`two_steps`, of which one may go by the query."""
    start += to_query[item] * toward_core[toward_core.shape[0] - 1]
    return two_steps(start, transitions, item, toward_core, np.float32(1))


@njit()
def smooth_query(
    near: Int32Array,
    from_query: Float32Array,
    core: Int32Array,
    returning: Float32Array,
    transitions: Parts,
    backward: Parts,
    block_mean: Scalar,
    beta: Scalar,
    mark: AnyArray,
    to_query: Float32Array,
    toward_core: Float32Array,
    members: Int32Array,
    values: Float32Array,
) -> None:
    """Eq. 13 to 15 for the query's row on its cluster."""
    core_columns(near, from_query, core, backward, mark, to_query, toward_core)
    r = reliability(near, from_query, core, returning, transitions, to_query, toward_core, block_mean)
    towards = np.empty(members.shape[0], np.float32)
    for m in range(members.shape[0]):
        reach = r
        if mark[members[m]] != CORE:
            reach = to_core(np.float32(0), transitions, members[m], to_query, toward_core)
        towards[m] = min(reach, r)
    for j in near:
        to_query[j] = 0
        toward_core[j] = 0
    toward_core[toward_core.shape[0] - 1] = 0
    clear_columns(core, backward, toward_core)
    if r * r + 2 * beta > 0:
        smooth_row(values.copy(), towards, r, beta, values)


@njit()
def average(
    near: Int32Array,
    core: Int32Array,
    weight: Scalar,
    smoothed: Parts,
    ids: Int32Array,
    values: Float32Array,
    size: Scalar,
    scratch: Float32Array,
    touched: Int32Array,
) -> Scalar:
    """Eq. 16: the mean over the nearest, and that over the core by `weight`; returns the size of the row."""
    indptr, indices, data = smoothed
    plain, trusted = np.float32(1) / (near.shape[0] + 1), weight / (core.shape[0] + 1)
    whole = weight + np.float32(1)
    reached = scatter(ids, values, 0, size, (trusted + plain) / whole, scratch, touched, 0)
    for j in near:
        reached = scatter(indices, data, indptr[j], indptr[j + 1], plain / whole, scratch, touched, reached)
    for j in core:
        reached = scatter(indices, data, indptr[j], indptr[j + 1], trusted / whole, scratch, touched, reached)
    for t in range(reached):
        ids[t], values[t] = touched[t], scratch[touched[t]]
        scratch[touched[t]] = 0
    return reached


@njit()
def walk_on(
    ids: Int32Array,
    values: Float32Array,
    size: Scalar,
    rows: Parts,
    scratch: Float32Array,
    touched: Int32Array,
) -> Scalar:
    """One step of eq. 17: the query's row times the matrix whose last row it is itself."""
    indptr, indices, data = rows
    n = indptr.shape[0] - 1
    reached = 0
    for m in range(size):
        j, weight = ids[m], values[m]
        if j == n:
            reached = scatter(ids, values, 0, size, weight, scratch, touched, reached)
        else:
            begin, end = indptr[j], indptr[j + 1]
            reached = scatter(indices, data, begin, end, weight, scratch, touched, reached)
    return reached
