"""What a training leaves for vectors that come later, and for the next training: arrays, no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors import Searcher
from foldwalk.rerank.kept import Kept
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
    def restore(cls, kept: Kept, params: GradNetParams, vectors: Vectors) -> Trained | None:
        """The opposite of `state`; None where only features were kept, as the first format did."""
        n, parts = len(vectors), {name.partition("/")[0] for name in kept.names()}
        if "round0" not in parts:
            return None
        inputs = Inputs.restore(kept.under("inputs/"), params, vectors.dim)
        count, width = sum(part.startswith("round") for part in parts), inputs.width(vectors.dim)
        rounds = [Round.restore(kept.under(f"round{r}/"), params, n, width) for r in range(count)]
        wide = width + sum(params.sizes) if params.concatenate else params.sizes[-1]
        spaces = [kept.numbers(f"space{r}/features", n, wide) for r in range(count - 1)]
        axes = kept.numbers("projection/axes", count * wide, None) if "projection" in parts else None
        # Before the share was kept, few items did not count.
        share = own_share(params, rounds[0].k, np.inf)
        if "share" in parts:
            share = kept.number("share/own", low=0, high=1)
        return cls(params, inputs, rounds, share, spaces, None if axes is None else Projection(axes))

    def width(self, dim: int) -> int:
        """How many numbers the features of a vector of `dim` have."""
        if self.projection is not None:
            return int(self.projection.axes.shape[1])
        sizes = self.params.sizes
        one = self.inputs.width(dim) + sum(sizes) if self.params.concatenate else sizes[-1]
        return len(self.rounds) * one


def side_by_side(rounds: list[Float32Array]) -> Float32Array:
    """The features of all rounds, scaled so that a cosine is the mean of theirs."""
    return np.asarray(np.hstack(rounds) / np.float32(np.sqrt(len(rounds))), np.float32)
