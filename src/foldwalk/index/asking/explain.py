"""Why an item is where it is: the chain of pictures that leads to it, and its rank in plain search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.vectors import Vectors
from foldwalk.index.asking.plain import plain_order, plain_place
from foldwalk.index.asking.query import Query, resolve
from foldwalk.index.asking.search import rank
from foldwalk.index.graph.chain import strongest_chain
from foldwalk.index.graph.knn import PROMISED
from foldwalk.index.types import Explanation, Step
from foldwalk.index.view import View
from foldwalk.neighbors.scale import in_scale
from foldwalk.neighbors.similarity import pair_similarity
from foldwalk.rerank.base import Reranker

FIRST_LOOK = 1_000


def explain(
    view: View,
    asked: Any,
    backbone: Callable[[], Any],
    key: str,
    method: str,
    parameters: Mapping[str, Any],
    fit: bool = True,
) -> Explanation:
    target = view.position(key)
    query = resolve(asked, view, backbone)
    if target in query.own:
        raise BadInput(f"{key!r} is the query itself; ask for another item.")
    similarities = view.similarities(query.vector)
    mask = np.ones(len(view), bool)
    mask[list(query.own)] = False
    plain = plain_place(similarities, mask, target)
    fitted = view.fitted(method, parameters, fit)
    place = _place(fitted, query, target)
    steps = _steps(view, query, similarities, mask, target)
    direct = float(similarities[target])
    sentence = _sentence(key, method, place, plain, steps, direct)
    return Explanation(steps, place, plain, direct, sentence, fitted.note)


def _place(method: Reranker, query: Query, target: int) -> int:
    """The item's rank, from one; items that are part of the query do not count."""
    n = len(method.vectors)
    for depth in (min(FIRST_LOOK, n), n):
        ids, _ = rank(method, query, depth)
        ids = ids[~np.isin(ids, query.own)]
        found = np.flatnonzero(ids == target)
        if len(found):
            return int(found[0]) + 1
    raise AssertionError("a ranking holds every item")


def _steps(
    view: View, query: Query, similarities: np.ndarray, mask: np.ndarray, target: int
) -> tuple[Step, ...]:
    if query.row is not None:
        starts, first = np.array([query.row]), np.ones(1, np.float32)
    else:
        starts = plain_order(similarities, mask, PROMISED)
        first = similarities[starts]
    chain = strongest_chain(view.both_ways, starts, first, target)
    if not chain:
        return ()
    prepared = view.prepared
    items = prepared.values
    if query.row is not None:
        steps = [Step(view.keys[query.row], None)]
        chain, here = chain[1:], items[query.row]
    else:
        steps, here = [Step(None, None)], in_scale(Vectors(query.vector[None]), prepared.scale).values[0]
    for item in chain:
        there = items[item]
        steps.append(
            Step(view.keys[item], float(pair_similarity(here, there, view.facts.metric == "cosine")))
        )
        here = there
    return tuple(steps)


def _sentence(key: str, method: str, place: int, plain: int, steps: tuple[Step, ...], direct: float) -> str:
    moved = (
        f"{method} has {key} at rank {place}, as plain search does"
        if place == plain
        else f"{method} has {key} at rank {place}, plain search at {plain}"
    )
    alone = f"its own similarity to the query is {direct:.2f}"
    if not steps:
        return f"{moved}; no chain of neighbours leads to it, and {alone}."
    if len(steps) == 2:
        return f"{moved}; it is a direct neighbour of the query, and {alone}."
    between = len(steps) - 2
    weakest = min(step.similarity for step in steps if step.similarity is not None)
    pictures = "one other picture" if between == 1 else f"{between} other pictures"
    return (
        f"{moved}; the chain to it leads through {pictures} with no step below {weakest:.2f}, while {alone}."
    )
