"""Plain similarity of one query with every item, and the places that follow from it."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from foldwalk.core.types import BoolArray, Float32Array, IntArray, Scalar
from foldwalk.neighbors.similarity import pair_similarity


@njit(cache=True, parallel=True)
def similarities_to_all(query: Float32Array, vectors: Float32Array, cosine: bool) -> Scalar:
    out = np.empty(vectors.shape[0], np.float32)
    for item in prange(vectors.shape[0]):
        out[item] = pair_similarity(query, vectors[item], cosine)
    return out


def plain_order(similarities: Float32Array, mask: BoolArray, top: int) -> IntArray:
    """The `top` most similar items among those of the mask, ties by place."""
    items = np.flatnonzero(mask)
    values = similarities[items]
    if top < len(items):
        least = np.partition(values, len(items) - top)[len(items) - top]
        items, values = items[values >= least], values[values >= least]
    return items[np.lexsort((items, -values))][:top]


def plain_place(similarities: Float32Array, mask: BoolArray, item: int) -> int:
    """The place, from one, of an item among those of the mask."""
    own = similarities[item]
    before = (similarities > own) & mask
    tied = (similarities[:item] == own) & mask[:item]
    return int(before.sum() + tied.sum()) + 1
