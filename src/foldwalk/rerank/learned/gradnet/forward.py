"""A vector that comes later goes forward through a trained network, in numpy.

The items stay as they were. With a_qj the weight of the query's edge to item j and d_j the sum of j's own:

    S_qj      = a_qj / sqrt( (sum over j of a_qj) (d_j + a_qj) )                               (eq. 2)
    H_q(l+1)  = LeakyReLU( H_q(l) W1 + sum over j of  S_qj M_j(l) )                            (eq. 16)
    M_j(l)    = H_j(l) W1 + ((S H(l))_j * H_j(l)) W2

scaled to length one after each layer. The messages M are computed once after training and kept. An edge joins
the query to those of its k nearest items that would count it among their own k nearest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, Float32Array, Float64Array, IntArray
from foldwalk.graph import as_rows
from foldwalk.rerank.kept import Kept
from foldwalk.rerank.learned.gradnet.graph import GraphInput, Places
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams

LEAK = 0.01
# Below this length features are not stretched: an item without any has gradients, but finite ones.
SHORTEST = 1e-6
# Numbers of H that S multiplies at once.
NUMBERS_AT_ONCE = 2**24


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
    def restore(cls, kept: Kept, params: GradNetParams, width: int) -> Weights:
        """Of a network that reads `width` numbers of each item."""
        steps = list(enumerate(pairwise((width, *params.sizes))))
        second = steps if params.second_order else []
        return cls(
            [kept.numbers(f"first.{layer}", *step) for layer, step in steps],
            [kept.numbers(f"second.{layer}", *step) for layer, step in second],
        )

    @classmethod
    def of(cls, state: dict[str, AnyArray]) -> Weights:
        """From what `state` gave."""
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
        n, h, transitions, end = len(graph), graph.features, graph.transitions, 0
        messages = np.empty((n, sum(first.shape[1] for first in weights.first)), np.float32)
        for layer, first in enumerate(weights.first):
            message = h @ first
            # The item's own row of eq. 16 is L H W1 + S M.
            own = graph.self_loop[:, None] * message
            if weights.second:
                for some in few_columns(*h.shape):
                    part = h[:, some]
                    message += ((transitions @ part) * part) @ weights.second[layer][some]
            for some in few_columns(*message.shape):
                own[:, some] += transitions @ message[:, some]
            start, end = end, end + first.shape[1]
            messages[:, start:end] = message
            h = activated(own)
        return cls(weights, Places.of(graph.affinity, neighbors), messages)

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
    def restore(cls, kept: Kept, params: GradNetParams, n: int, width: int) -> Round:
        """Of n items of which the network reads `width` numbers."""
        messages = kept.numbers("messages", n, sum(params.sizes))
        return cls(Weights.restore(kept, params, width), Places.restore(kept, n), messages)


def few_columns(rows: int, columns: int) -> Iterator[slice]:
    """All columns, a few at a time: S times many rows need not be there as a whole."""
    step = max(1, NUMBERS_AT_ONCE // max(rows, 1))
    return (slice(start, start + step) for start in range(0, columns, step))


def activated(total: Float32Array) -> Float32Array:
    """The output of a layer, in the place of what it is given."""
    np.maximum(total, LEAK * total, out=total)
    total /= np.maximum(_lengths(total), SHORTEST)
    return total


def _unit(features: Float32Array) -> Float32Array:
    return np.asarray(features / np.maximum(_lengths(features), 1e-12), np.float32)


def _lengths(features: Float32Array) -> Float64Array:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", features, features, dtype=np.float64))[:, None])
