"""A search: rank, leave out what must not be answered, fold near-duplicates, say where each hit stood before.

Filters and folding take items away, so the ranking is read deeper and deeper until there are enough hits, in
the end to its last item: no hit is missed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.ranking import check_top
from foldwalk.core.types import AnyArray, BoolArray, IntArray
from foldwalk.index.asking.plain import plain_order, plain_place, similarities_to_all
from foldwalk.index.asking.query import Query, resolve
from foldwalk.index.types import Hit, Results
from foldwalk.index.view import View
from foldwalk.rerank.base import Reranker
from foldwalk.stores.filters import allowed
from foldwalk.stores.metadata import metadata_of

# Similarity from which two items are shown as one.
NEAR_DUPLICATE = 0.97
DEEPER = 4


def search(
    view: View,
    asked: Any,
    backbone: Callable[[], Any],
    top: int,
    method: str,
    parameters: Mapping[str, Any],
    where: Mapping[str, Any],
    fold: bool | float,
    fit: bool = True,
) -> Results:
    top = check_top(top, len(view))
    threshold = _threshold(fold)
    clock = [time.perf_counter()]
    query = resolve(asked, view, backbone)
    clock.append(time.perf_counter())
    fitted = view.fitted(method, parameters, fit)
    clock.append(time.perf_counter())
    mask = allowed(view.metadata, where) if where else np.ones(len(view), bool)
    mask[list(query.own)] = False
    found = _rank_until(fitted, query, mask, top, threshold)
    similarities = view.similarities(query.vector)
    hits = tuple(
        Hit(
            place + 1,
            view.keys[item],
            float(score),
            float(similarities[item]),
            plain_place(similarities, mask, item),
            metadata_of(view.metadata_texts[item], view.keys[item]),
            tuple(view.keys[twin] for twin in twins),
        )
        for place, (item, score, twins) in enumerate(found)
    )
    plain = tuple(view.keys[item] for item in plain_order(similarities, mask, len(hits)))
    clock.append(time.perf_counter())
    parts = zip(("describe", "fit", "search"), np.diff(clock), strict=True)
    return Results(hits, method, {name: float(seconds) for name, seconds in parts}, plain, fitted.note)


def rank(method: Reranker, query: Query, top: int) -> tuple[AnyArray, AnyArray]:
    """ids and scores; an item of the index is ranked as the part of the graph that it is."""
    if query.row is not None:
        ranking = method.rank_rows([query.row], top)
    else:
        ranking = method.rank(query.vector[None], top)
    return ranking.ids[0], ranking.scores[0]


@dataclass
class _Group:
    """A hit, and its near-duplicates that came later."""

    item: int
    score: float
    twins: list[int]


def _rank_until(
    method: Reranker, query: Query, mask: BoolArray, top: int, threshold: float | None
) -> list[tuple[int, float, list[int]]]:
    n, wanted = len(mask), min(top, int(mask.sum()))
    if wanted == 0:
        return []
    depth = top + len(query.own)
    if threshold is not None or mask.sum() < n - len(query.own):
        depth *= DEEPER
    while True:
        ids, scores = rank(method, query, min(depth, n))
        keep = mask[ids]
        ids, scores = ids[keep], scores[keep]
        groups = _fold(method, ids, scores, threshold, top)
        # A hit's near-duplicates may follow right behind the last one: the list must reach beyond it.
        if depth >= n or (threshold is None and len(groups) >= wanted) or len(groups) > top:
            return [(group.item, group.score, group.twins) for group in groups[:top]]
        depth *= DEEPER


def _fold(
    method: Reranker, ids: IntArray, scores: AnyArray, threshold: float | None, top: int
) -> list[_Group]:
    if threshold is None:
        return [_Group(int(item), float(score), []) for item, score in zip(ids[:top], scores, strict=False)]
    cosine = method.params.metric == "cosine"
    groups: list[_Group] = []
    for item, score in zip(ids, scores, strict=True):
        if len(groups) > top:
            break
        heads = method.vectors.values[[group.item for group in groups]]
        near = similarities_to_all(method.vectors.values[item], heads, cosine) >= threshold
        if near.any():
            groups[int(near.argmax())].twins.append(int(item))
        else:
            groups.append(_Group(int(item), float(score), []))
    return groups


def _threshold(fold: bool | float) -> float | None:
    if fold is False or fold is None:
        return None
    if fold is True:
        return NEAR_DUPLICATE
    if isinstance(fold, (int, float)) and 0 < fold <= 1:
        return float(fold)
    raise BadInput(f"fold must be true, false or a similarity above 0 and up to 1, but it is {fold!r}.")
