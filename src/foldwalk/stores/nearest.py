"""The nearest items of queries by a pass over all items, some at a time: exact, and never short."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from foldwalk.core.errors import BadInput
from foldwalk.core.json_text import read_json_object
from foldwalk.core.types import Float64Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors import prepare
from foldwalk.neighbors.exact import exact_search
from foldwalk.neighbors.scale import in_scale, own_scale, smallest_scale
from foldwalk.stores.filters import allowed
from foldwalk.stores.types import Batch, Facts, Found

TOLD_APART = (1 / 16, 16_384)


def nearest(
    facts: Facts, batches: Iterable[Batch], queries: npt.ArrayLike, k: int, where: Mapping[str, Any] | None
) -> Found:
    """The k best of each query among the items of all batches that meet the conditions."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise BadInput(f"k must be a whole number of at least 1, but it is {k!r}.")
    asked = prepare(Vectors.check(queries, "queries", facts.dim), facts.metric, scale=1.0)
    scale: float | None = None
    order = np.zeros((len(asked), 0))  # cosines, or minus the distances
    numbers = np.zeros((len(asked), 0), np.int64)
    keys = np.zeros((len(asked), 0), object)
    matching = 0
    for batch in batches:
        fits = np.flatnonzero(matches(batch.metadata, where))
        if not len(fits):
            continue
        matching += len(fits)
        rows = Vectors(batch.vectors if len(fits) == len(batch.vectors) else batch.vectors[fits])
        scale = _scale(rows, facts.metric) if scale is None else scale
        ids, values = _candidates(rows, asked, int(k), facts.metric, scale)
        order = np.hstack([order, values])
        numbers = np.hstack([numbers, batch.numbers[fits][ids]])
        keys = np.hstack([keys, np.array(batch.keys, object)[fits][ids]])
        best = np.lexsort((numbers, -order), axis=1)[:, : min(k, matching)]
        order, numbers, keys = (np.take_along_axis(column, best, axis=1) for column in (order, numbers, keys))
    similarities = order if facts.metric == "cosine" else 1 / (1 - order)
    return Found(keys.tolist(), similarities.astype(np.float32))


def matches(metadata: list[str], where: Mapping[str, Any] | None) -> npt.NDArray[np.bool_]:
    """Which of these metadata, as JSON, meet the conditions."""
    if not where:
        return np.ones(len(metadata), bool)
    return allowed([read_json_object(text, "the metadata of an item") for text in metadata], where)


def _scale(rows: Vectors, metric: str) -> float:
    """In what unit a similarity of 1 / (1 + distance) tells distances apart; the stored one where it does.

    A power of two, by which vectors are divided without rounding.
    """
    typical = own_scale(rows, metric)
    return 1.0 if TOLD_APART[0] <= typical <= TOLD_APART[1] else 2.0 ** round(math.log2(typical))


def _candidates(
    rows: Vectors, queries: Vectors, k: int, metric: str, scale: float
) -> tuple[IntArray, Float64Array]:
    """At least the k best rows of each query, with cosines or minus the distances; minus infinity else.

    Exact search leaves out zero rows under the cosine metric. Their similarity to everyone is zero.
    """
    if metric != "cosine":
        scale = max(scale, smallest_scale(rows), smallest_scale(queries))
        found = exact_search(in_scale(rows, scale), in_scale(queries, scale), min(k, len(rows)), metric)
        return found.ids.astype(np.int64), scale * (1 - 1 / found.similarities.astype(np.float64))
    found = exact_search(rows, queries, min(k, len(rows)), metric)
    ids = found.ids.astype(np.int64)
    values = np.where(ids >= 0, found.similarities, -np.inf).astype(np.float64)
    undirected = queries.zero_rows
    ids[undirected], values[undirected] = np.arange(ids.shape[1]), 0
    zeros = np.flatnonzero(rows.zero_rows)[:k]
    of_zeros = np.where(undirected[:, None], -np.inf, np.zeros((len(queries), len(zeros))))
    return np.hstack([ids, np.tile(zeros, (len(queries), 1))]), np.hstack([values, of_zeros])
