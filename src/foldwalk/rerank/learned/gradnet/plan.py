"""What a batch computes: on the whole graph, on all it reaches, or on its own items alone (section 3.7).

To know layer l+1 at the items R, eq. 16 reads S (S H * H) at R, hence S H at R and its neighbours M, hence H
at M and its neighbours Q: two hops a layer, one without the second-order term. The messages of the first
layer never change and are kept, so an exact batch searches L - 1 layers backwards (`needed`): outside dropout
it gives what the whole graph gives, but four hops reach nearly all of a connected graph.

A clustered batch (`within`; Chiang et al., "Cluster-GCN", KDD 2019) is a graph of its own: its items and
the edges among them. The degrees of eq. 2 are those within the batch, so that an item whose neighbours are
partly elsewhere still takes as much from its neighbours as from itself. Its cost is that of its items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch.nn import functional

from foldwalk.core.graph import Graph
from foldwalk.core.types import IntArray
from foldwalk.rerank.learned.gradnet.diffusion import Hop, diffuse
from foldwalk.rerank.learned.gradnet.graph import GraphInput, propagation
from foldwalk.rerank.learned.gradnet.sparse import Selection, SparseMatrix


@dataclass(frozen=True, eq=False)
class Plan:
    """The way through all layers: the messages of the first one, a hop for each further one, and the answer.

    `inputs` is H(0) at the items of the answer, rows of length one; `messages` are those of H(0) at the items
    at which the first layer is needed; `places[l]` are the places of the answer's items within those at which
    layer l is known.
    """

    inputs: Tensor
    messages: tuple[Tensor, Tensor]
    hops: list[Hop]
    places: Sequence[Selection | None]


def hop_everywhere(graph: GraphInput, device: str = "cpu") -> Hop:
    """From all items to all items."""
    loop = torch.from_numpy(graph.self_loop).to(device)[:, None]
    transitions = SparseMatrix(graph.transitions, device)
    return Hop(loop, transitions, transitions)


def whole_graph(graph: GraphInput, layers: int, second_order: bool = True, device: str = "cpu") -> Plan:
    hop = hop_everywhere(graph, device)
    inputs = torch.from_numpy(graph.features).to(device)
    messages = diffuse(inputs, hop, second_order)
    return Plan(functional.normalize(inputs), messages, [hop] * (layers - 1), [None] * layers)


def within(graph: GraphInput, items: IntArray, renormalise: bool) -> GraphInput:
    """The items and the edges among them as a graph of their own."""
    affinity = graph.affinity[items][:, items]
    return GraphInput(affinity, *propagation(Graph(affinity), renormalise), graph.features[items])


def needed(graph: GraphInput, whole: Plan, items: IntArray, second_order: bool, device: str = "cpu") -> Plan:
    """The part of `whole` that `items` depend on; they must be ascending and without repetition."""
    hops: list[Hop] = []
    known = [items]
    for _ in whole.hops:
        ends = known[0]
        middle = _with_neighbors(graph.transitions, ends) if second_order else ends
        starts = _with_neighbors(graph.transitions, middle)
        loop = torch.from_numpy(graph.self_loop[middle]).to(device)[:, None]
        inner = SparseMatrix(_between(graph.transitions, middle, starts), device)
        outer = SparseMatrix(_between(graph.transitions, ends, middle), device) if second_order else inner
        places = _places(middle, starts, device), _places(ends, middle, device)
        hops.insert(0, Hop(loop, inner, outer, *places))
        known.insert(0, starts)
    first, second = (message[torch.from_numpy(known[0]).to(device)] for message in whole.messages)
    answer = whole.inputs[torch.from_numpy(items).to(device)]
    return Plan(answer, (first, second), hops, [_places(items, k, device) for k in known])


def _with_neighbors(transitions: sparse.csr_array, items: IntArray) -> IntArray:
    return np.union1d(items, transitions[items].indices.astype(np.int64))


def _between(transitions: sparse.csr_array, rows: IntArray, columns: IntArray) -> sparse.csr_array:
    """S at the given rows; `columns` hold every neighbour of theirs."""
    part = transitions[rows]
    places = np.searchsorted(columns, part.indices)
    return sparse.csr_array((part.data, places, part.indptr), shape=(len(rows), len(columns)))


def _places(items: IntArray, among: IntArray, device: str) -> Selection:
    return Selection(np.searchsorted(among, items), len(among), device)
