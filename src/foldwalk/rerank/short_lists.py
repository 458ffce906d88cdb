"""Short lists from somebody else's search, each re-ranked by itself: the query and its list are the gallery.

A walk over two hundred items sees little of how a collection hangs together: what was measured of the loss,
and the better way, stands in docs/short-lists.md.
"""

from __future__ import annotations

from typing import Any, Protocol

import numba
import numpy as np
import numpy.typing as npt

from foldwalk.core.errors import BadInput
from foldwalk.core.progress import task
from foldwalk.core.ranking import Ranking, check_top
from foldwalk.core.types import Float32Array
from foldwalk.core.vectors import Vectors, read_array


class _Reranks(Protocol):
    def rerank(self, queries: npt.ArrayLike, gallery: npt.ArrayLike, top: int = ...) -> Ranking: ...


def rerank_lists(method: _Reranks, queries: Any, candidates: Any, top: int) -> Ranking:
    """Each query with its list alone; ids are places in the list."""
    asked, lists = _read(queries, candidates)
    longest, shortest = max(map(len, lists)), min(map(len, lists))
    top = check_top(top, longest)
    if shortest < top:
        short = [len(items) for items in lists].index(shortest)
        raise BadInput(
            f"candidates, list {short} has {shortest} items, but top is {top} and another list has as many: "
            f"ask for a top of {shortest}, or hand in lists of one length at a time."
        )
    threads = numba.get_num_threads()
    numba.set_num_threads(1)  # a list gives a second thread less to do than waking it costs
    try:
        with task("re-ranking lists", len(lists)) as advance:
            answers = []
            for query, items in zip(asked, lists, strict=True):
                answers.append(method.rerank(query[None], items, top))
                advance(1)
    finally:
        numba.set_num_threads(threads)
    return Ranking(np.concatenate([a.ids for a in answers]), np.concatenate([a.scores for a in answers]))


def _read(queries: Any, candidates: Any) -> tuple[Float32Array, list[Float32Array]]:
    """Vectors of the queries, and of each one's list."""
    first = queries if isinstance(queries, np.ma.MaskedArray) else read_array(queries, "queries")
    if first.ndim == 1:
        first, candidates = first[None], [candidates]
    asked = Vectors.check(first, "queries")
    if not isinstance(candidates, (list, tuple)):
        stacked = read_array(candidates, "candidates")
        if stacked.ndim != 3:
            raise BadInput(
                f"candidates must be (queries, items, dimensions) or a list with one array per query, but "
                f"its shape is {stacked.shape}."
            )
        candidates = list(candidates if isinstance(candidates, np.ma.MaskedArray) else stacked)
    if len(candidates) != len(asked):
        raise BadInput(f"there are {len(asked)} queries, but {len(candidates)} lists of candidates.")
    lists = [
        Vectors.check(items, f"candidates, list {i}", asked.dim).values for i, items in enumerate(candidates)
    ]
    return asked.values, lists
