"""What a training leaves for vectors that come later, and for the next training: arrays, no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors import Searcher
from foldwalk.rerank.learned.gradnet.forward import Round
from foldwalk.rerank.learned.gradnet.inputs import Inputs, has_no_direction
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams
from foldwalk.rerank.learned.gradnet.projection import Projection
from foldwalk.rerank.learned.gradnet.share import own_share, weighed


@dataclass(eq=False)
class Trained:
    """The way from a vector to its features: H0, then the network of each round, then the projection.

    `share` is that of H(0) in the features. `spaces[r]` are the items' features of round r, among which a
    newcomer of the round after finds its neighbours; the last round needs none.
    """

    params: GradNetParams
    inputs: Inputs
    rounds: list[Round]
    share: float
    spaces: list[Float32Array] = field(default_factory=list)
    projection: Projection | None = None

    @property
    def k(self) -> int:
        """Neighbours of the first round's graph."""
        return self.rounds[0].k

    def features(self, queries: Vectors, found: Neighbors) -> Float32Array:
        """Features, scaled to length one, of vectors whose k nearest items, or more of them, are `found`."""
        h0, nobody = self.inputs.place(queries), has_no_direction(queries, self.params.metric)
        outputs: list[Float32Array] = []
        for number, trained in enumerate(self.rounds):
            if number:
                searcher = self._searchers[number - 1]
                found = searcher.search(Vectors(outputs[-1]), min(trained.k, len(searcher.gallery)))
            features = trained.pass_forward(h0, found.first(min(trained.k, found.k)), self.params)
            features[nobody] = 0
            outputs.append(features)
        return self.narrow(side_by_side(outputs))

    def narrow(self, features: Float32Array) -> Float32Array:
        """Features of all rounds side by side as they are searched: H(0) with its share, and projected."""
        whole = self.weighed(features)
        return whole if self.projection is None else self.projection.place(whole)

    def weighed(self, features: Float32Array) -> Float32Array:
        """The same before the projection."""
        return weighed(features, self.params, self.share, len(self.rounds))

    def spread(self, places: IntArray, n: int) -> Trained:
        """The same among n items, item i being places[i] there; the others take no part."""
        spaces = []
        for space in self.spaces:
            wide = np.zeros((n, space.shape[1]), np.float32)
            wide[places] = space
            spaces.append(wide)
        rounds = [trained.spread(places, n) for trained in self.rounds]
        return Trained(self.params, self.inputs, rounds, self.share, spaces, self.projection)

    @cached_property
    def _searchers(self) -> list[Searcher]:
        return [Searcher(Vectors(space), "cosine", self.params.search) for space in self.spaces]

    def state(self) -> dict[str, AnyArray]:
        arrays = {f"inputs/{name}": array for name, array in self.inputs.state().items()}
        for number, trained in enumerate(self.rounds):
            arrays |= {f"round{number}/{name}": array for name, array in trained.state().items()}
        arrays["share/own"] = np.array(self.share)
        arrays |= {f"space{number}/features": space for number, space in enumerate(self.spaces)}
        if self.projection is not None:
            arrays["projection/axes"] = self.projection.axes
        return arrays

    @classmethod
    def restore(cls, state: dict[str, AnyArray], params: GradNetParams) -> Trained | None:
        """The opposite of `state`; None where only features were kept, as the first format did."""
        parts: dict[str, dict[str, AnyArray]] = {}
        for name, array in state.items():
            part, _, rest = name.partition("/")
            if rest:
                parts.setdefault(part, {})[rest] = array
        if "round0" not in parts:
            return None
        rounds = [Round.restore(parts[f"round{r}"]) for r in range(len(parts)) if f"round{r}" in parts]
        spaces = [parts[f"space{r}"]["features"] for r in range(len(rounds) - 1)]
        projection = Projection(parts["projection"]["axes"]) if "projection" in parts else None
        inputs = Inputs.restore(parts.get("inputs", {}), params)
        return cls(params, inputs, rounds, _kept_share(parts, params, rounds[0].k), spaces, projection)


def _kept_share(parts: dict[str, dict[str, AnyArray]], params: GradNetParams, k: int) -> float:
    """The share with which the items' features were made; before it was kept, few items did not count."""
    if "share" not in parts:
        return own_share(params, k, np.inf)
    share = float(parts["share"]["own"])
    if not 0 < share <= 1:
        raise ValueError("the share of the vectors is not between 0 and 1")
    return share


def side_by_side(rounds: list[Float32Array]) -> Float32Array:
    """The features of all rounds, scaled so that a cosine is the mean of theirs."""
    return np.asarray(np.hstack(rounds) / np.float32(np.sqrt(len(rounds))), np.float32)
