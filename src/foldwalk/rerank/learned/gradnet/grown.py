"""A trained GRAD-Net on a collection that has changed since: nothing is trained again.

Items of the training keep the features they learned. Those that came later get theirs as unseen queries do,
and so does a query; ranking is plain search among all of them.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from foldwalk.core.types import AnyArray, Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors import Searcher
from foldwalk.neighbors.scale import in_scale
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.kept import Kept
from foldwalk.rerank.learned.gradnet.method import GradNetMethod
from foldwalk.rerank.learned.gradnet.model import GradNet
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams
from foldwalk.rerank.order import Reached


class GrownGradNet(Reranker):
    """`rows` holds, for each item of the collection to adopt, its row in the training; -1 for later ones."""

    name = GradNetMethod.name
    family = GradNetMethod.family
    paper = GradNetMethod.paper
    summary = GradNetMethod.summary
    Parameters = GradNetParams
    needs_training = True

    def __init__(self, trained: GradNetMethod, rows: IntArray) -> None:
        parameters: dict[str, Any] = trained.params.model_dump()
        super().__init__(seed=trained.seed, **parameters)
        self.trained, self.rows = trained, rows

    def _wanted(self, _: int) -> int:
        """Of the collection none: the network has those of its training."""
        return 0

    def _prepare(self) -> None:
        known = self.trained.model.features
        features = np.zeros((len(self.rows), known.shape[1]), np.float32)
        there = self.rows >= 0
        features[there] = known[self.rows[there]]
        if not there.all():
            features[~there] = self._learned_of(self.vectors.values[~there])
        self._index(features)

    def _index(self, features: Float32Array) -> None:
        self.features = features
        self.learned = Searcher(Vectors(features), "cosine", self.params.search, self.seed)

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        return self._nearest(self._learned_of(queries.values), None, top)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        return self._nearest(self.features[rows], rows, top)

    def _nearest(self, features: Float32Array, own: IntArray | None, top: int) -> Reached:
        found = self.learned.search(Vectors(features), min(top, self.candidates), own)
        return Reached(found.ids, found.similarities)

    def transform(self, queries: npt.ArrayLike) -> Float32Array:
        """The learned features of queries that were never seen."""
        return self.trained.transform(queries)

    def _learned_of(self, values: Float32Array) -> Float32Array:
        """Of vectors in the scale of this collection, which need not be that of the training."""
        return self.transform(in_scale(Vectors(values, self.vector_scale), 1.0).values)

    def _state(self) -> dict[str, AnyArray]:
        return {"features": self.features}

    def _restore(self, kept: Kept) -> None:
        self._index(kept.numbers("features", len(self.vectors), self.trained.model.features.shape[1]))

    def _unfitted(self) -> Self:
        return type(self)(self.trained, self.rows)


def as_method(net: GradNet) -> GradNetMethod:
    """A network that was trained by itself as the method that an index keeps."""
    kept = {} if net.trained is None else net.trained.state()
    state = {"features": net.features, "k": np.array(net.k), **kept}
    parameters: dict[str, Any] = net.params.model_dump()
    return GradNetMethod(seed=net.seed, **parameters).adopt(net.vectors, state=state)
