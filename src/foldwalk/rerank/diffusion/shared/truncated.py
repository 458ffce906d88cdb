"""EIR's offline part: the system of each item, cut to what lies within the item's radius."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from foldwalk.core.types import AnyArray, Float32Array, Float64Array, Int32Array, IntArray, Scalar
from foldwalk.neighbors.similarity import pair_similarity

UNKNOWN, OUTSIDE = -1, -2


@njit()
def _sub_graph(
    indptr: AnyArray,
    indices: AnyArray,
    data: AnyArray,
    vectors: Float32Array,
    cosine: bool,
    item: Scalar,
    scores: Float32Array,
    radius: Scalar,
    members: Int32Array,
    ends: IntArray,
    place_of: Int32Array,
    refused: Int32Array,
    starts: IntArray,
    others: Int32Array,
    weights: Float32Array,
) -> tuple[Scalar, Scalar]:
    """What lies within the radius, by steps from `item`: those within t steps in front of ends[t].

    The edges of the member at place a lead to the places others[starts[a] : starts[a + 1]]; `place_of` tells
    members' places. `scores` are the item's similarities to all, or to a sample, which is of no use here.
    Returns how many were refused, and how many steps lead to new members.
    """
    members[0], place_of[item], ends[0] = item, 0, 1
    begin, size, refusals, t = 0, 1, 0, 0
    edges = np.uint64(0)
    known = len(scores) == len(vectors)
    while begin < size:
        t, end = t + 1, size
        for a in range(begin, end):
            node = np.uint64(members[a])
            for edge in range(np.uint64(indptr[node]), np.uint64(indptr[node + np.uint64(1)])):
                other = np.uint64(indices[edge])
                place = place_of[other]
                if place == UNKNOWN and t < len(ends):
                    if known:
                        similarity = scores[other]
                    else:
                        similarity = pair_similarity(vectors[item], vectors[other], cosine)
                    if size < len(members) and similarity >= radius:
                        members[size], place_of[other], place = other, size, size
                        size += 1
                    else:
                        refused[refusals], place_of[other] = other, OUTSIDE
                        refusals += 1
                # Written whether it stays or not, which leaves no branch to guess.
                others[edges], weights[edges] = place, data[edge]
                edges += np.uint64(place >= 0)
            starts[a + 1] = edges
        begin = end
        if t < len(ends):
            ends[t] = size
    return refusals, min(t, len(ends) - 1)


@njit(cache=True, parallel=True, fastmath={"contract"})
def solve_truncated(
    indptr: AnyArray,
    indices: AnyArray,
    data: AnyArray,
    vectors: Float32Array,
    cosine: bool,
    items: IntArray,
    scores: Float32Array,
    radius: Float32Array,
    alpha: Scalar,
    tolerance: Scalar,
    max_iterations: int,
    out_ids: Int32Array,
    out_values: Float32Array,
    sizes: IntArray,
) -> None:
    """(I - alpha S) f = e_i on the sub-graph of the items within i's radius; positive entries of f.

    As many steps of conjugate gradients reach no farther than that many steps on the graph.
    """
    count, width = out_ids.shape
    widest = (indptr[1:] - indptr[:-1]).max()
    chunks = 32
    for chunk in prange(chunks):
        first, last = chunk * count // chunks, (chunk + 1) * count // chunks
        if first == last:
            continue
        place_of = np.full(indptr.shape[0] - 1, UNKNOWN, np.int32)
        members, refused = np.empty(width, np.int32), np.empty(indptr.shape[0], np.int32)
        ends = np.empty(max_iterations + 1, np.int64)
        starts, others = np.zeros(width + 1, np.int64), np.empty(width * widest + 1, np.int32)
        weights = np.empty(width * widest + 1, np.float32)
        x, r, p, q = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
        for row in range(first, last):
            refusals, deepest = _sub_graph(
                indptr, indices, data, vectors, cosine, items[row], scores[row], radius[row],
                members, ends, place_of, refused, starts, others, weights,
            )  # fmt: skip
            size = ends[deepest]
            x[:size], r[:size], p[:size] = 0.0, 0.0, 0.0
            r[0], p[0], squared = 1.0, 1.0, 1.0
            for t in range(max_iterations):
                if squared <= tolerance * tolerance:
                    break
                reached = ends[min(t + 1, deepest)]
                curvature = 0.0
                for a in range(reached):
                    walked = 0.0
                    for edge in range(np.uint64(starts[a]), np.uint64(starts[a + 1])):
                        walked += weights[edge] * p[np.uint64(others[edge])]
                    q[a] = p[a] - alpha * walked
                    curvature += p[a] * q[a]
                if curvature <= 0.0:
                    break
                squared = _step(x, r, p, q, reached, squared, curvature)
            found = 0
            for a in range(size):
                place_of[members[a]] = UNKNOWN
                if x[a] > 0:
                    out_ids[row, found], out_values[row, found] = members[a], x[a]
                    found += 1
            sizes[row] = found
            for a in range(refusals):
                place_of[refused[a]] = UNKNOWN


@njit(fastmath={"reassoc", "contract"})
def _step(
    x: Float64Array,
    r: Float64Array,
    p: Float64Array,
    q: Float64Array,
    size: Scalar,
    squared: Scalar,
    curvature: Scalar,
) -> Scalar:
    """One step of conjugate gradients, q = (I - alpha S) p; returns the squared length of the residual."""
    step = squared / curvature
    after = 0.0
    for a in range(size):
        x[a] += step * p[a]
        r[a] -= step * q[a]
        after += r[a] * r[a]
    turn = after / squared
    for a in range(size):
        p[a] = r[a] + turn * p[a]
    return after
