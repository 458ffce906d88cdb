"""GRAD-Net: a graph network learns features in which neighbours, and neighbours of neighbours, come close.

Z. Dou, H. Cui, L. Zhang and B. Wang, "Learning global and local consistent representations for unsupervised
image retrieval via deep graph diffusion networks". Trained once on the neighbour graph of a collection, it
gives every item a feature vector; ranking is then plain search among the features.

    graph.py     mutual neighbours and their weights (eq. 2, 8), codes Z (eq. 9), input H0 (eq. 10)
    choice.py    k, chosen without labels
    network.py   the layers (eq. 11 to 17)
    plan.py      which items a batch needs (section 3.7)
    batches.py   sextets (section 3.8)
    losses.py    local smoothness and global order (eq. 18 to 22)
    train.py     the training
    query.py     unseen queries (eq. 23)
    saving.py    the .safetensors file
"""

from __future__ import annotations

import importlib
import os
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from foldwalk.core.errors import BadInput, MissingExtra, NotFitted
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.ranking import Ranking
from foldwalk.core.types import Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors import Searcher, knn_graph, prepare
from foldwalk.rerank.learned.gradnet.choice import choose_k, largest_k
from foldwalk.rerank.learned.gradnet.graph import has_no_direction, input_features, on_graph, reordered
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams
from foldwalk.rerank.learned.gradnet.query import expand, expand_again
from foldwalk.rerank.learned.gradnet.saving import read_net, write_net
from foldwalk.rerank.learned.shared.space import canonical_order
from foldwalk.rerank.order import complete
from foldwalk.rerank.parameterized import Parameterized

if TYPE_CHECKING:
    from foldwalk.rerank.learned.gradnet.train import Epoch, GraphTrainer, Listener


class GradNet(Parameterized):
    """Learned features of a collection, without labels.

    >>> net = GradNet(k=10, epochs=5)          # doctest: +SKIP
    >>> net.fit(gallery).features.shape        # doctest: +SKIP
    (1000, 2788)
    """

    name = "gradnet"
    Parameters = GradNetParams
    k: int
    features: Float32Array

    def __init__(self, *, seed: int = 0, **parameters: Any) -> None:
        super().__init__(seed=seed, **parameters)
        self._vectors: Vectors | None = None

    def fit(
        self,
        gallery: npt.ArrayLike,
        y: Any = None,  # noqa: ARG002
        *,
        listener: Listener | None = None,
    ) -> Self:
        """Train on the gallery, (n, d). `listener` is called with an `Epoch` after every epoch.

        `y` has a place because scikit-learn gives it one; it is not looked at.
        """
        metric = self.params.metric
        vectors = prepare(Vectors.check(gallery, "gallery"), metric)
        wanted = min(largest_k(self.params), len(vectors) - 1)
        if wanted < 1:
            nobody = np.zeros((len(vectors), 0))
            neighbors = Neighbors(nobody.astype(np.int32), nobody.astype(np.float32), self.params.metric)
        else:
            neighbors = knn_graph(vectors, wanted, self.params.metric, seed=self.seed)
        return self.fit_graph(vectors, neighbors, listener)

    def fit_graph(self, vectors: Vectors, neighbors: Neighbors, listener: Listener | None = None) -> Self:
        """Train on vectors that `foldwalk.neighbors.prepare` has seen and whose neighbours are known."""
        trainer_class, p = _trainer(), self.params
        order = canonical_order(vectors)
        ordered, around = Vectors(vectors.values[order]), reordered(neighbors, order)
        first_k = p.fixed_k or choose_k(around)
        inputs = input_features(ordered, p, self.seed)
        nobody = has_no_direction(ordered, p.metric)
        rounds: list[Float32Array] = []

        def in_given_order(features: Float32Array) -> Float32Array:
            """The rounds side by side, scaled so that a cosine is the mean of theirs."""
            joined = np.hstack([*rounds, features])
            joined /= np.float32(np.sqrt(len(rounds) + 1))
            back = np.empty_like(joined)
            back[order] = joined
            back[order[nobody]] = 0
            return back

        def tell(epoch: Epoch) -> None:
            if listener is not None:
                number = len(rounds) * p.epochs + epoch.number
                listener(replace(epoch, number=number, features=lambda: in_given_order(epoch.features())))

        while True:
            k = p.fixed_k or choose_k(around)
            graph = on_graph(inputs, around.first(min(k, around.k)), p)
            features = trainer_class(graph, p, self.seed).run(tell)
            if len(rounds) + 1 == p.rounds or not around.k:
                return self.adopt(vectors, in_given_order(features), first_k)
            features[nobody] = 0
            rounds.append(features)
            around = knn_graph(Vectors(features), around.k, seed=self.seed)

    def adopt(self, vectors: Vectors, features: Float32Array, k: int) -> Self:
        """Take features that were learned before."""
        self._vectors, self.features, self.k = vectors, features, k
        self.__dict__.pop("learned", None)
        return self

    def fit_transform(self, gallery: npt.ArrayLike, y: Any = None) -> Float32Array:  # noqa: ARG002
        """Train, and give the features learned for the gallery itself; `transform` is for everybody else."""
        return self.fit(gallery).features

    def transform(self, queries: npt.ArrayLike) -> Float32Array:
        """The learned features of queries that were never seen, (q, D), by QFE."""
        asked = Vectors.check(queries, "queries", self.vectors.dim)
        vectors = prepare(asked, self.params.metric, self.vectors.scale)
        searcher = Searcher(self.vectors, self.params.metric, self.params.search, self.seed)
        return self.expand(searcher.search(vectors, min(self.k, len(self.vectors)))).values

    def expand(self, found: Neighbors) -> Vectors:
        """QFE for queries whose nearest items by plain similarity are `found`."""
        queries = expand(found, Vectors(self.features), self.params.kernel)
        return expand_again(queries, self.learned, self.k) if self.params.expansions == 2 else queries

    def rank(self, queries: npt.ArrayLike, top: int = 100) -> Ranking:
        """Rank the gallery for queries that were never seen."""
        features = Vectors(self.transform(queries))
        found = self.learned.search(features, min(top, len(self.vectors)))
        return _as_ranking(found, None, len(self.vectors))

    def rank_self(self, top: int = 100) -> Ranking:
        """Rank the gallery for each of its own items, the item itself left out."""
        own = np.arange(len(self.vectors))
        found = self.learned.search(Vectors(self.features), min(top, len(own)), own)
        return _as_ranking(found.first(min(top, len(own) - 1)), own, len(own))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write vectors, learned features and parameters to one .safetensors file."""
        arrays = {"vectors": self.vectors.values, "features": self.features}
        facts = {"parameters": self.params.model_dump(), "seed": self.seed, "k": self.k}
        facts["scale"] = self.vectors.scale
        return write_net(path, arrays, facts)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """A network as `save` wrote it, ready to rank; torch is not needed."""
        vectors, features, facts = read_net(path)
        try:
            net = cls(seed=facts["seed"], **facts["parameters"])
            scaled = replace(vectors, scale=float(facts.get("scale", 1.0)))
            return net.adopt(scaled, features, int(facts["k"]))
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"{path} is not a GRAD-Net saved by foldwalk: {error}.") from None

    def _fitted_dim(self) -> int | None:
        return None if self._vectors is None else self._vectors.dim

    @property
    def vectors(self) -> Vectors:
        """The fitted vectors as the metric sees them."""
        if self._vectors is None:
            raise NotFitted("GradNet has no gallery yet: call fit(gallery) first.")
        return self._vectors

    @cached_property
    def learned(self) -> Searcher:
        """Searches the learned features."""
        return Searcher(Vectors(self.features), "cosine", self.params.search, self.seed)


def _as_ranking(found: Neighbors, own: IntArray | None, n: int) -> Ranking:
    whole = complete(found, own, n)
    return Ranking(whole.ids.astype(np.int64), whole.similarities)


def _trainer() -> type[GraphTrainer]:
    """The part that needs torch, imported when it is first needed."""
    try:
        module = importlib.import_module("foldwalk.rerank.learned.gradnet.train")
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "torch":
            raise
        raise MissingExtra("torch", "learn", "GRAD-Net") from None
    trainer: type[GraphTrainer] = module.GraphTrainer
    return trainer
