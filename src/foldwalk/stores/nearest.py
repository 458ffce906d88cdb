"""The nearest items of queries by a pass over all items, some at a time: exact, and never short."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from foldwalk.core.errors import BadInput
from foldwalk.core.types import Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors import prepare
from foldwalk.neighbors.exact import exact_search
from foldwalk.neighbors.scale import in_scale, own_scale
from foldwalk.neighbors.similarity import pair_distances
from foldwalk.stores.filters import allowed
from foldwalk.stores.types import Batch, Facts, Found


def nearest(
    facts: Facts, batches: Iterable[Batch], queries: npt.ArrayLike, k: int, where: Mapping[str, Any] | None
) -> Found:
    """The k best of each query among the items of all batches that meet the conditions."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise BadInput(f"k must be a whole number of at least 1, but it is {k!r}.")
    asked = prepare(Vectors.check(queries, "queries", facts.dim), facts.metric, scale=1.0)
    scale: float | None = None
    order = np.zeros((len(asked), 0))
    numbers = np.zeros((len(asked), 0), np.int64)
    keys = np.zeros((len(asked), 0), object)
    matching = 0
    for batch in batches:
        fits = np.flatnonzero(matches(batch.metadata, where))
        if not len(fits):
            continue
        matching += len(fits)
        rows = Vectors(batch.vectors if len(fits) == len(batch.vectors) else batch.vectors[fits])
        # The first items tell in what scale small distances are told apart and large ones do not overflow.
        scale = own_scale(rows, facts.metric) if scale is None else scale
        ids, values = _candidates(in_scale(rows, scale), in_scale(asked, scale), int(k), facts.metric)
        order = np.hstack([order, values])
        numbers = np.hstack([numbers, batch.numbers[fits][ids]])
        keys = np.hstack([keys, np.array(batch.keys, object)[fits][ids]])
        best = np.lexsort((numbers, -order), axis=1)[:, : min(k, matching)]
        order, numbers, keys = (np.take_along_axis(column, best, axis=1) for column in (order, numbers, keys))
    if facts.metric != "cosine":
        order = 1 / (1 - order * (scale or 1.0))
    return Found(keys.tolist(), order.astype(np.float32))


def matches(metadata: list[str], where: Mapping[str, Any] | None) -> npt.NDArray[np.bool_]:
    """Which of these metadata, as JSON, meet the conditions."""
    if not where:
        return np.ones(len(metadata), bool)
    return allowed([json.loads(text) for text in metadata], where)


def _candidates(rows: Vectors, queries: Vectors, k: int, metric: str) -> tuple[IntArray, Float32Array]:
    """At least the k best rows of each query, with their cosine or minus their distance; minus infinity else.

    A distance tells more of near rows than their similarity does.
    Exact search leaves out zero rows under the cosine metric. Their similarity to everyone is zero.
    """
    found = exact_search(rows, queries, min(k, len(rows)), metric)
    ids = found.ids.astype(np.int64)
    if metric != "cosine":
        indptr = np.arange(len(ids) + 1) * ids.shape[1]
        return ids, -pair_distances(queries.values, rows.values, indptr, ids.ravel()).reshape(ids.shape)
    values = np.where(ids >= 0, found.similarities, -np.inf).astype(np.float32)
    undirected = queries.zero_rows
    ids[undirected], values[undirected] = np.arange(ids.shape[1]), 0
    zeros = np.flatnonzero(rows.zero_rows)[:k]
    of_zeros = np.where(undirected[:, None], -np.inf, np.zeros((len(queries), len(zeros)))).astype(np.float32)
    return np.hstack([ids, np.tile(zeros, (len(queries), 1))]), np.hstack([values, of_zeros])
