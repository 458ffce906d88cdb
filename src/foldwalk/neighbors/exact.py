"""Exact nearest neighbours: one matrix product per block, then the k largest of each row.

A block of queries times the gallery is one BLAS call, and the selection runs in parallel over its rows. Of
the neighbours of a large set within itself each product is computed once (within.py);
benchmarks/speed/knn_graph.py shows it beside a flat FAISS index.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.progress import task
from foldwalk.core.types import Float32Array, Int32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.machine.products import product
from foldwalk.neighbors.similarity import pair_similarities, rescore
from foldwalk.neighbors.within import nearest_within
from foldwalk.walk.select import top_of_dense_rows

BLOCK_BYTES = 8 * 2**20  # of scores at a time: what the caches hold
# Up to so many items the farthest of each is noted as well; beyond, callers take it from a sample.
FARTHEST_UP_TO = 20_000
# Candidates beyond k: rounding in the matrix product may swap neighbours that are this close to the border.
SPARE = 8
# Each product serves both items from so many items on, and up to so many entries of all lists together.
WITHIN_FROM, LONGEST_LISTS = 5_000, 2**24


def exact_search(
    gallery: Vectors, queries: Vectors, k: int, metric: str, own: IntArray | None = None
) -> Neighbors:
    """The k nearest gallery items of each query; `own[q]`, if given, is an id that query q must not find.

    With the cosine metric a zero row has no direction: it finds nothing and is found by nobody (ids of -1).
    """
    cosine = metric == "cosine"
    present = np.flatnonzero(~gallery.zero_rows) if cosine else np.arange(len(gallery))
    reachable = gallery.values if len(present) == len(gallery) else gallery.values[present]
    width = min(k + SPARE + (own is not None), len(present))
    half = None if cosine else np.einsum("ij,ij->i", reachable, reachable) / 2
    with_farthest = 0 < len(present) <= FARTHEST_UP_TO
    with task("nearest neighbours", len(queries)) as advance:
        if queries is gallery and _pays_within(len(present), width):
            candidates = np.full((len(queries), width), -1, np.int32)
            farthest = np.zeros(len(queries), np.int64)
            candidates[present], farthest[present] = nearest_within(
                reachable, half, width, with_farthest, advance
            )
            missed = present[candidates[present, 0] < 0]
            candidates[missed] = _by_blocks(gallery.values[missed], reachable, half, width, advance)[0]
        else:
            candidates, farthest = _by_blocks(queries.values, reachable, half, width, advance)
    if len(present) < len(gallery):
        candidates = present.astype(np.int32)[candidates]
    if cosine:
        candidates[queries.zero_rows] = -1
    everyone = present if width < len(present) else present[:0]
    found = finish(gallery, queries, candidates, k, metric, own, everyone, recall=1.0, how="exact")
    if not with_farthest:
        return found
    pairs = np.arange(len(queries) + 1)
    least = pair_similarities(queries.values, gallery.values, pairs, present[farthest], cosine)
    return replace(found, least=least)


def _pays_within(n: int, width: int) -> bool:
    """Not for few items, nor for lists that are long or take much memory."""
    return n >= WITHIN_FROM and 16 * width <= n and n * width <= LONGEST_LISTS


def _by_blocks(
    queries: Float32Array,
    gallery: Float32Array,
    half: Float32Array | None,
    width: int,
    advance: Callable[[int], None],
) -> tuple[Int32Array, IntArray]:
    """Places in the gallery of the `width` best of each query, and of the farthest."""
    candidates: Int32Array = np.empty((len(queries), width), np.int32)
    farthest = np.zeros(len(queries), np.int64)
    block = max(256, BLOCK_BYTES // (4 * max(len(gallery), 1)))
    for start in range(0, len(queries), block):
        part = slice(start, start + block)
        scores = product(queries[part], gallery)
        if half is not None:
            scores -= half
        candidates[part], _, farthest[part] = top_of_dense_rows(scores, width)
        advance(len(scores))
    return candidates, farthest


def finish(
    gallery: Vectors,
    queries: Vectors,
    candidates: Int32Array,
    k: int,
    metric: str,
    own: IntArray | None,
    everyone: IntArray,
    recall: float,
    how: str,
) -> Neighbors:
    """Candidates, however they were found, as neighbours: scored again, sorted, ties by id, self left out."""
    ids = np.full((len(queries), k), -1, np.int32)
    similarities: Float32Array = np.zeros((len(queries), k), np.float32)
    nobody = np.full(len(queries), -1) if own is None else own
    cosine = metric == "cosine"
    rescore(
        queries.values,
        gallery.values,
        np.ascontiguousarray(nobody, dtype=np.int32),
        np.ascontiguousarray(candidates, dtype=np.int32),
        everyone.astype(np.int32),
        cosine,
        ids,
        similarities,
    )
    return Neighbors(ids, similarities, metric, recall, how)
