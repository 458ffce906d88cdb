"""Approximate nearest neighbours for sets where exact search would take too long.

The k-NN graph of a whole set: nearest-neighbour descent (Dong, Moses and Li 2011) by pynndescent. Search of
new queries: a navigable small-world graph (Malkov and Yashunin 2018) by FAISS. Both report the recall that an
exact search of sampled rows measured, and both answer the same bytes for the same seed.
"""

from __future__ import annotations

from typing import Any

import faiss
import numpy as np
from pynndescent import NNDescent

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.progress import task
from foldwalk.core.types import Int32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors.exact import SPARE, exact_search, finish
from foldwalk.neighbors.recall import measured_recall, sampled_rows

NOBODY = np.zeros(0, np.int64)


def descent_graph(vectors: Vectors, k: int, metric: str, seed: int) -> Neighbors:
    """The k nearest others of every item, by nearest-neighbour descent."""
    present = np.flatnonzero(~vectors.zero_rows) if metric == "cosine" else np.arange(len(vectors))
    if len(present) < 2:
        return exact_search(vectors, vectors, k, metric, np.arange(len(vectors)))
    with task("k-NN graph (descent)", 1) as advance:
        # On unit vectors Euclidean distance orders as the cosine does, and is the faster of the two here.
        descent = NNDescent(
            vectors.values if len(present) == len(vectors) else vectors.values[present],
            metric="euclidean",
            n_neighbors=min(k + SPARE, len(present) - 1) + 1,
            random_state=seed,
            low_memory=True,
            compressed=False,
            verbose=False,
        )
        found = descent.neighbor_graph[0]
        advance(1)
    candidates = np.full((len(vectors), found.shape[1]), -1, np.int32)
    candidates[present] = np.where(found < 0, -1, present[found])
    own = np.arange(len(vectors))
    rows = sampled_rows(vectors, metric, seed)
    sample = Vectors(vectors.values[rows])
    of_sample = finish(vectors, sample, candidates[rows], k, metric, rows, NOBODY, float("nan"), "descent")
    recall = measured_recall(of_sample, vectors, sample, rows)
    return finish(vectors, vectors, candidates, k, metric, own, NOBODY, recall, "descent")


class SmallWorld:
    """A FAISS HNSW index of a gallery, built by one thread so that it is the same every time."""

    def __init__(self, gallery: Vectors, metric: str, seed: int) -> None:
        self.gallery, self.metric = gallery, metric
        kind = faiss.METRIC_INNER_PRODUCT if metric == "cosine" else faiss.METRIC_L2
        self.present = np.flatnonzero(~gallery.zero_rows) if metric == "cosine" else np.arange(len(gallery))
        self.index: Any = faiss.IndexHNSWFlat(gallery.dim, 32, kind)
        self.index.hnsw.efConstruction = 80
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)
        try:
            with task("small-world index", len(self.present)) as advance:
                for start in range(0, len(self.present), 16_384):
                    rows = self.present[start : start + 16_384]
                    self.index.add(gallery.values[rows])
                    advance(len(rows))
        finally:
            faiss.omp_set_num_threads(threads)
        self.recall = float("nan")
        rows = sampled_rows(gallery, metric, seed)
        sample, k = Vectors(gallery.values[rows]), max(1, min(50, len(self.present) - 1))
        self.recall = measured_recall(self.search(sample, k, rows), gallery, sample, rows)

    def search(self, queries: Vectors, k: int, own: IntArray | None) -> Neighbors:
        if len(self.present) == 0:
            return exact_search(self.gallery, queries, k, self.metric, own)
        width = min(k + SPARE + (own is not None), len(self.present))
        self.index.hnsw.efSearch = max(64, 2 * width)
        found = self.index.search(queries.values, width)[1]
        candidates: Int32Array = np.where(found < 0, -1, self.present[found]).astype(np.int32)
        if self.metric == "cosine":
            candidates[queries.zero_rows] = -1
        return finish(
            self.gallery, queries, candidates, k, self.metric, own, NOBODY, self.recall, "small world"
        )
