"""The distance of two rows of F', and its fusion with the plain distance (CAS, eq. 18, 19 and 64)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from foldwalk.core.types import AnyArray, Float32Array, IntArray
from foldwalk.rerank.fusion import distance_from_similarity
from foldwalk.walk import InvertedList, scale_rows


class Closeness:
    """One minus the distance of rows of F', for pairs of rows that overlap; built once for the items."""

    def __init__(self, rows: sparse.csr_array, candidates: int, distance: str) -> None:
        self.distance, self.candidates = distance, candidates
        # One more column than items: that of an unseen query itself, which no stored row has.
        wide = sparse.csr_array(
            (rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], rows.shape[1] + 1)
        )
        self.items = wide[:candidates]
        self.lists = InvertedList(scale_rows(self.items, "l2") if distance == "cosine" else self.items)

    def of(self, rows: sparse.csr_array) -> sparse.csr_array:
        """(q, candidates), entries between 0 and 1, none where rows have nothing in common."""
        if self.distance == "jensen_shannon":
            common = self.lists.overlap(rows, "jensen_shannon")
        elif self.distance == "cosine":
            common = self.lists.overlap(scale_rows(rows, "l2"), "product")
        elif self.distance == "jaccard":
            common = self.lists.overlap(rows, "minimum")
            common.data = common.data / (2 - common.data)
        else:  # the similarity F' itself, its largest entry as one
            kept = rows.indices < self.candidates
            owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))[kept]
            largest = np.zeros(rows.shape[0], np.float32)
            np.maximum.at(largest, owner, rows.data[kept])
            values = rows.data[kept] / largest[owner]
            shape = (rows.shape[0], self.candidates)
            common = sparse.csr_array((values, (owner, rows.indices[kept])), shape=shape)
        common.data = np.clip(common.data, 0, 1)
        return common

    def euclidean(self, rows: sparse.csr_array) -> Float32Array:
        """|F'_q - F'_j|_2 for every candidate, (q, candidates): also where rows do not overlap."""
        products = self.lists.overlap(rows, "product").toarray()
        own = np.asarray(rows.multiply(rows).sum(axis=1)).reshape(-1, 1)
        theirs = np.asarray(self.items.multiply(self.items).sum(axis=1)).reshape(1, -1)
        return np.asarray(np.sqrt(np.maximum(own + theirs - 2 * products, 0)), dtype=np.float32)


def plain_distances(
    similarities_of: Callable[[IntArray, AnyArray], Float32Array],
    items: int,
    scale: Float32Array,
    metric: str,
) -> Float32Array:
    """d of eq. 1 for every pair, over the largest in its row, (q, items)."""
    every = np.tile(np.arange(items), len(scale))
    ends = np.arange(len(scale) + 1) * items
    squared = distance_from_similarity(similarities_of(ends, every), metric).reshape(len(scale), -1)
    return np.asarray(squared / scale[:, None], dtype=np.float32)
