"""A vector that comes later goes forward through a trained network, in numpy.

The items stay as they were. With a_qj the weight of the query's edge to item j and d_j the sum of j's own:

    S_qj      = a_qj / sqrt( (sum over j of a_qj) (d_j + a_qj) )                               (eq. 2)
    H_q(l+1)  = LeakyReLU( H_q(l) W1 + sum over j of  S_qj M_j(l) )                            (eq. 16)
    M_j(l)    = H_j(l) W1 + ((S H(l))_j * H_j(l)) W2

scaled to length one after each layer. The messages M are computed once after training and kept. An edge joins
the query to those of its k nearest items that would count it among their own k nearest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, Float32Array, IntArray
from foldwalk.graph import as_rows
from foldwalk.rerank.learned.gradnet.graph import GraphInput, Places
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams

LEAK = 0.01
# Below this length features are not stretched, as in training.
SHORTEST = 1e-6


@dataclass(frozen=True, eq=False)
class Weights:
    """W1 and W2 of each layer; `second` is empty without the second-order term."""

    first: list[Float32Array]
    second: list[Float32Array]

    def state(self) -> dict[str, AnyArray]:
        """Under the names that torch gives them."""
        both = {"first": self.first, "second": self.second}
        return {f"{name}.{layer}": w for name, ws in both.items() for layer, w in enumerate(ws)}

    @classmethod
    def restore(cls, state: dict[str, AnyArray]) -> Weights:
        layers = sum(name.startswith("first.") for name in state)
        second = [state[f"second.{layer}"] for layer in range(layers) if f"second.{layer}" in state]
        return cls([state[f"first.{layer}"] for layer in range(layers)], second)


@dataclass(frozen=True, eq=False)
class Round:
    """One trained network with what its items tell a newcomer.

    `around` knows degrees and radii of the graph, `messages` holds M_j(l) of every layer side by side.
    """

    weights: Weights
    around: Places
    messages: Float32Array

    @property
    def k(self) -> int:
        return self.around.k

    @classmethod
    def of(cls, weights: Weights, graph: GraphInput, neighbors: Neighbors) -> Round:
        """Pass all items forward, without dropout, and keep their messages."""
        messages, h, transitions = [], graph.features, graph.transitions
        for layer, first in enumerate(weights.first):
            one_step = transitions @ h
            message = h @ first
            # The item's own row of eq. 16 is L H W1 + S M.
            own = graph.self_loop[:, None] * message
            if weights.second:
                message = message + (one_step * h) @ weights.second[layer]
            messages.append(message)
            h = activated(own + transitions @ message)
        return cls(weights, Places.of(graph.affinity, neighbors), np.hstack(messages))

    def pass_forward(self, h0: Float32Array, found: Neighbors, params: GradNetParams) -> Float32Array:
        """Features (q, D), scaled to length one, of newcomers whose k nearest items are `found`."""
        weights, loop = self.around.edges(found, params)
        received = as_rows(found, weights, len(self.messages)) @ self.messages
        h, outputs, start = h0, [_unit(h0)], 0
        for first in self.weights.first:
            end = start + first.shape[1]
            h = activated(loop[:, None] * (h @ first) + received[:, start:end])
            outputs.append(h)
            start = end
        return _unit(np.hstack(outputs)) if params.concatenate else h

    def spread(self, places: IntArray, n: int) -> Round:
        """The same among n items, item i being places[i] there; to the others nobody is joined."""
        messages = np.zeros((n, self.messages.shape[1]), np.float32)
        messages[places] = self.messages
        return replace(self, around=self.around.spread(places, n), messages=messages)

    def state(self) -> dict[str, AnyArray]:
        return {**self.weights.state(), **self.around.state(), "messages": self.messages}

    @classmethod
    def restore(cls, state: dict[str, AnyArray]) -> Round:
        return cls(Weights.restore(state), Places.restore(state), state["messages"])


def activated(total: Float32Array) -> Float32Array:
    return _unit(np.where(total > 0, total, LEAK * total), SHORTEST)


def _unit(features: Float32Array, shortest: float = 1e-12) -> Float32Array:
    length = np.sqrt(np.einsum("ij,ij->i", features, features, dtype=np.float64))[:, None]
    return np.asarray(features / np.maximum(length, shortest), np.float32)
