"""Rows compared with the rows of all items through an inverted list, in blocks of queries."""

from __future__ import annotations

from scipy import sparse

from foldwalk.core.progress import task
from foldwalk.core.types import IntArray
from foldwalk.rerank.order import Reached
from foldwalk.walk import InvertedList
from foldwalk.walk.overlap import Measure

BLOCK = 1024


def compare_rows(
    lists: InvertedList,
    rows: sparse.csr_array,
    measure: Measure,
    top: int,
    candidates: int,
    own: IntArray | None,
) -> Reached:
    """The `top` items whose rows overlap most with each of `rows`; who shares no column is unreached."""
    reached = []
    with task("comparing neighbourhoods", rows.shape[0]) as advance:
        for first in range(0, rows.shape[0], BLOCK):
            part = sparse.csr_array(rows[first : first + BLOCK])
            left_out = None if own is None else own[first : first + BLOCK]
            reached.append(Reached.from_sparse(lists.overlap(part, measure), top, candidates, left_out))
            advance(part.shape[0])
    return Reached.join(reached)
