"""Which items a batch needs: a breadth-first search backwards through the layers (section 3.7).

To know layer l+1 at the items R, eq. 16 reads S (S H * H) at R, hence S H at R and its neighbours M, hence H
at M and its neighbours Q: two hops a layer, one without the second-order term. The first layer reads
messages that are stored for every item, so the search takes L - 1 layers. All rows it needs are complete:
outside dropout a batch gives exactly what the whole graph gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from foldwalk.core.types import IntArray
from foldwalk.rerank.learned.gradnet.graph import GraphInput
from foldwalk.rerank.learned.gradnet.sparse import Selection, SparseMatrix


@dataclass(frozen=True, eq=False)
class Hop:
    """One layer's way from H at Q over S H at M to R; None where a selection would be everything.

    `loop` is the self-loop at M, `inner` S from Q to M, `outer` S from M to R; `middle` are the places of M
    within Q, `ends` the places of R within M. Without the second order M is R.
    """

    loop: Tensor
    inner: SparseMatrix
    outer: SparseMatrix
    middle: Selection | None = None
    ends: Selection | None = None


@dataclass(frozen=True, eq=False)
class Plan:
    """The way through all layers: the items of the first layer, a hop for each further one, and the answer.

    `places[l]` are the places of `items` within the items at which layer l is known.
    """

    items: Tensor
    first_items: Tensor
    hops: list[Hop]
    places: Sequence[Selection | None]


def whole_graph(graph: GraphInput, layers: int, device: str = "cpu") -> Plan:
    everything = torch.arange(len(graph), device=device)
    loop = torch.from_numpy(graph.self_loop).to(device)[:, None]
    transitions = SparseMatrix(graph.transitions, device)
    hop = Hop(loop, transitions, transitions)
    return Plan(everything, everything, [hop] * (layers - 1), [None] * layers)


def needed(graph: GraphInput, items: IntArray, layers: int, second_order: bool, device: str = "cpu") -> Plan:
    """The plan for `items`, which must be ascending and without repetition."""
    hops: list[Hop] = []
    known = [items]
    for _ in range(layers - 1):
        ends = known[0]
        middle = _with_neighbors(graph.transitions, ends) if second_order else ends
        starts = _with_neighbors(graph.transitions, middle)
        loop = torch.from_numpy(graph.self_loop[middle]).to(device)[:, None]
        inner = SparseMatrix(_between(graph.transitions, middle, starts), device)
        outer = SparseMatrix(_between(graph.transitions, ends, middle), device) if second_order else inner
        places = _places(middle, starts, device), _places(ends, middle, device)
        hops.insert(0, Hop(loop, inner, outer, *places))
        known.insert(0, starts)
    first_items = torch.from_numpy(known[0]).to(device)
    return Plan(
        torch.from_numpy(items).to(device), first_items, hops, [_places(items, k, device) for k in known]
    )


def _with_neighbors(transitions: sparse.csr_array, items: IntArray) -> IntArray:
    return np.union1d(items, transitions[items].indices.astype(np.int64))


def _between(transitions: sparse.csr_array, rows: IntArray, columns: IntArray) -> sparse.csr_array:
    """S at the given rows; `columns` hold every neighbour of theirs."""
    part = transitions[rows]
    places = np.searchsorted(columns, part.indices)
    return sparse.csr_array((part.data, places, part.indptr), shape=(len(rows), len(columns)))


def _places(items: IntArray, among: IntArray, device: str) -> Selection:
    return Selection(np.searchsorted(among, items), len(among), device)
