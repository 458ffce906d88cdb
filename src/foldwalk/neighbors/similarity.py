"""Similarities of given pairs, summed in one fixed order.

A matrix product may round the same dot product differently at different places of a block. Candidates found
by it are scored again here, so that equal vectors get equal similarities, s(a, b) equals s(b, a), and ties
are broken by id on every machine and for every order of the gallery.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray, Scalar
from foldwalk.walk.select import offer, sort_heap

METRICS = ("cosine", "euclidean")
# What rounding may change in a float32 matrix product of two vectors, as a share of their lengths (twice what
# was seen for 16 to 10,000 dimensions), and so what may hide a neighbour behind the last candidate.
ROUNDING = 4e-6


@njit(fastmath={"reassoc", "contract"})
def _dot(a: Float32Array, b: Float32Array) -> Scalar:
    total = np.float32(0)
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@njit(fastmath={"reassoc", "contract"})
def _squared_distance(a: Float32Array, b: Float32Array) -> Scalar:
    total = np.float32(0)
    for i in range(a.shape[0]):
        total += (a[i] - b[i]) * (a[i] - b[i])
    return total


@njit()
def pair_similarity(a: Float32Array, b: Float32Array, cosine: bool) -> Scalar:
    """Cosine of two unit vectors, or 1 / (1 + Euclidean distance)."""
    if cosine:
        return min(max(_dot(a, b), np.float32(-1)), np.float32(1))
    return np.float32(1) / (np.float32(1) + np.sqrt(_squared_distance(a, b)))


@njit()
def _close(query: Float32Array, kept: Scalar, last: Scalar, cosine: bool) -> Scalar:
    """Whether the similarities of the last one kept and of the last candidate are the same up to rounding."""
    if cosine:
        return kept - last <= ROUNDING
    kept_distance, last_distance = 1.0 / max(kept, 1e-30) - 1.0, 1.0 / max(last, 1e-30) - 1.0
    longest = np.sqrt(_dot(query, query)) + last_distance
    return last_distance**2 - kept_distance**2 <= ROUNDING * longest**2


@njit(inline="always")
def _key(value: Scalar, item: Scalar) -> Scalar:
    """A whole number that ascends in the order of `comes_before`: the value's bits turned around, the id."""
    bits = np.float32(value + np.float32(0)).view(np.uint32)  # both zeros are the same
    falling = bits if bits >> np.uint32(31) else bits ^ np.uint32(0x7FFFFFFF)
    return np.uint64(falling) << np.uint64(32) | np.uint64(item)


@njit(inline="always")
def _parts_of_key(key: Scalar) -> tuple[Scalar, Scalar]:
    falling = np.uint32(key >> np.uint64(32))
    bits = falling if falling >> np.uint32(31) else falling ^ np.uint32(0x7FFFFFFF)
    return np.uint32(bits).view(np.float32), np.int32(key & np.uint64(0x7FFFFFFF))


@njit(cache=True, parallel=True)
def rescore(
    queries: Float32Array,
    gallery: Float32Array,
    own: Int32Array,
    candidates: Int32Array,
    everyone: Int32Array,
    cosine: bool,
    ids: Int32Array,
    similarities: Float32Array,
) -> None:
    """Score the candidates of each query and keep the best, sorted; id own[q] is passed over.

    Where the last one kept is too close to the last candidate, equals or, by rounding, nearer ones may lie
    outside the candidates: such a row is searched among `everyone` (empty: never, for candidates that are
    approximate anyway).
    """
    k = ids.shape[1]
    width = candidates.shape[1]
    for q in prange(candidates.shape[0]):
        keys, known = np.empty(width, np.uint64), 0
        for c in range(width):
            item = candidates[q, c]
            if item >= 0:
                keys[known] = _key(pair_similarity(queries[q], gallery[item], cosine), item)
                known += 1
        keys[:known].sort()
        size = 0
        for c in range(known):
            value, item = _parts_of_key(keys[c])
            if size < k and item != own[q]:
                similarities[q, size], ids[q, size] = value, item
                size += 1
        if size == 0 or size < k or everyone.shape[0] == 0:
            continue
        if _close(queries[q], similarities[q, k - 1], _parts_of_key(keys[known - 1])[0], cosine):
            size = 0
            for item in everyone:
                if item != own[q]:
                    value = pair_similarity(queries[q], gallery[item], cosine)
                    size = offer(similarities[q], ids[q], size, k, value, item)
            sort_heap(similarities[q], ids[q], size)


@njit(cache=True, parallel=True)
def pair_similarities(
    queries: Float32Array, gallery: Float32Array, indptr: IntArray, items: AnyArray, cosine: bool
) -> Scalar:
    """The similarity of every stored pair of a CSR pattern: query q with items[indptr[q] : indptr[q + 1]]."""
    out = np.empty(items.shape[0], np.float32)
    for q in prange(indptr.shape[0] - 1):
        for place in range(indptr[q], indptr[q + 1]):
            out[place] = pair_similarity(queries[q], gallery[items[place]], cosine)
    return out
