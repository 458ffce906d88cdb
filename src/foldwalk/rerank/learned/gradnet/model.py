"""GRAD-Net: a graph network learns features in which neighbours, and neighbours of neighbours, come close.

Z. Dou, H. Cui, L. Zhang and B. Wang, "Learning global and local consistent representations for unsupervised
image retrieval via deep graph diffusion networks". Trained once on the neighbour graph of a collection, it
gives every item a feature vector; ranking is then plain search among the features.

    inputs.py    codes Z (eq. 9), input H0 (eq. 10)
    graph.py     mutual neighbours and their weights (eq. 2, 8)
    choice.py    k, chosen without labels
    network.py   the layers (eq. 11 to 17)
    plan.py      which items a batch needs (section 3.7)
    batches.py   sextets (section 3.8)
    losses.py    local smoothness and global order (eq. 18 to 22)
    train.py     the training of one network
    learning.py  the training as a whole, round after round
    checkpoint.py  an interrupted training goes on
    trained.py   what is kept of a training
    share.py     how much of the features is the vector itself
    forward.py   unseen queries go forward through the network
    query.py     unseen queries by expansion (eq. 23)
    projection.py  features in fewer dimensions
    saving.py    the .safetensors file
"""

from __future__ import annotations

import os
import warnings
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from foldwalk.core.checked_arrays import checked_ids, checked_scale
from foldwalk.core.errors import BadInput, NotFitted, one_line
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.ranking import Ranking
from foldwalk.core.types import Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors import Searcher, knn_graph, prepare
from foldwalk.rerank.kept import Kept
from foldwalk.rerank.learned.gradnet.checkpoint import Checkpoint
from foldwalk.rerank.learned.gradnet.choice import advice, largest_k
from foldwalk.rerank.learned.gradnet.learning import Learning, check_start
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams
from foldwalk.rerank.learned.gradnet.query import expand, expand_again
from foldwalk.rerank.learned.gradnet.saving import read_net, write_net
from foldwalk.rerank.learned.gradnet.trained import Trained
from foldwalk.rerank.learned.shared.space import canonical_order
from foldwalk.rerank.order import complete
from foldwalk.rerank.parameterized import Parameterized

if TYPE_CHECKING:
    from foldwalk.rerank.learned.gradnet.train import Listener


class GradNet(Parameterized):
    """Learned features of a collection, without labels.

    `features` (n, D) are those of the fitted items, `transform` gives those of others; `advice` says in a
    sentence where the graph promises little.

    >>> net = GradNet(k=10, epochs=5)          # doctest: +SKIP
    >>> net.fit(gallery).features.shape        # doctest: +SKIP
    (1000, 256)
    """

    name = "gradnet"
    Parameters = GradNetParams
    k: int
    features: Float32Array
    trained: Trained | None
    advice: str = ""

    def __init__(self, *, seed: int = 0, **parameters: Any) -> None:
        super().__init__(seed=seed, **parameters)
        self._vectors: Vectors | None = None

    def fit(
        self,
        gallery: npt.ArrayLike,
        y: Any = None,  # noqa: ARG002
        *,
        queries: npt.ArrayLike | None = None,
        start: GradNet | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        listener: Listener | None = None,
    ) -> Self:
        """Train on the gallery, (n, d). `listener` is called with an `Epoch` after every epoch.

        With `truncate`, only the nearest items of these `queries` train (section 3.7). Training goes on from
        the weights of `start`: after a few vectors were added, few epochs will do. What was done when it
        breaks off is kept in the file `checkpoint`; called again with it, it goes on there.
        `y` has a place because scikit-learn gives it one; it is not looked at.
        """
        p = self.params
        vectors = prepare(Vectors.check(gallery, "gallery"), p.metric)
        if not p.truncate:
            return self.fit_prepared(vectors, listener, start, checkpoint)
        asked = self.check_queries(queries, vectors)
        nearest = Searcher(vectors, p.metric, p.search, self.seed).search(
            asked, min(p.truncate, len(vectors))
        )
        rows = np.unique(nearest.ids[nearest.ids >= 0]).astype(np.int64)
        inner = type(self)(seed=self.seed, **p.model_dump())
        inner.fit_prepared(Vectors(vectors.values[rows], vectors.scale), listener, start, checkpoint)
        return self.adopt_part(vectors, rows, inner)

    def check_queries(self, queries: npt.ArrayLike | None, vectors: Vectors) -> Vectors:
        """The queries around which to train, as the metric sees them."""
        if queries is None:
            raise BadInput(
                "gradnet: truncate trains on the nearest items of the queries, and there are none: "
                "fit(gallery, queries=...) takes them, or leave truncate out."
            )
        return prepare(Vectors.check(queries, "queries", vectors.dim), self.params.metric, vectors.scale)

    def fit_prepared(
        self,
        vectors: Vectors,
        listener: Listener | None = None,
        start: GradNet | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """`fit` on vectors that `foldwalk.neighbors.prepare` has seen, all of which train."""
        p = self.params
        wanted = min(largest_k(p), len(vectors) - 1)
        if wanted < 1:
            nobody = np.zeros((len(vectors), 0))
            neighbors = Neighbors(nobody.astype(np.int32), nobody.astype(np.float32), p.metric)
        else:
            neighbors = knn_graph(vectors, wanted, p.metric, seed=self.seed)
        return self.fit_graph(vectors, neighbors, listener, start=start, checkpoint=checkpoint)

    def fit_graph(
        self,
        vectors: Vectors,
        neighbors: Neighbors,
        listener: Listener | None = None,
        *,
        start: GradNet | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train on vectors that `foldwalk.neighbors.prepare` has seen and whose neighbours are known."""
        weights = None if start is None else self._weights_of(start, vectors.dim)
        self.advice = advice(neighbors)
        if self.advice:
            warnings.warn(f"gradnet: {self.advice}", UserWarning, stacklevel=2)
        order = canonical_order(vectors)
        ordered = Vectors(vectors.values[order])
        learning = Learning(ordered, self.params, self.seed, order, listener)
        if checkpoint is not None:
            learning.checkpoint = Checkpoint.open(checkpoint, ordered, self.params, self.seed, weights)
        trained, features = learning.run(neighbors, weights)
        return self.adopt(vectors, features, max(trained.k, 1), trained)

    def _weights_of(self, start: GradNet, dim: int) -> Trained:
        if start.trained is None:
            raise BadInput("the GRAD-Net to start from was saved without its weights: train it anew.")
        if start.vectors.dim != dim:
            raise BadInput(f"the GRAD-Net to start from reads {start.vectors.dim} dimensions, not {dim}.")
        check_start(start.params, self.params)
        return start.trained

    def adopt(self, vectors: Vectors, features: Float32Array, k: int, trained: Trained | None = None) -> Self:
        """Take features that were learned before; without `trained`, unseen queries are expanded."""
        self._vectors, self.features, self.k, self.trained = vectors, features, k, trained
        self.__dict__.pop("learned", None)
        return self

    def adopt_part(self, vectors: Vectors, rows: IntArray, part: GradNet) -> Self:
        """Take what was learned on some rows of the vectors; the features of the others are zero."""
        features = np.zeros((len(vectors), part.features.shape[1]), np.float32)
        features[rows] = part.features
        trained = None if part.trained is None else part.trained.spread(rows, len(vectors))
        return self.adopt(vectors, features, part.k, trained)

    def fit_transform(self, gallery: npt.ArrayLike, y: Any = None) -> Float32Array:  # noqa: ARG002
        """Train, and give the features learned for the gallery itself; `transform` is for everybody else."""
        return self.fit(gallery).features

    def transform(self, queries: npt.ArrayLike) -> Float32Array:
        """The learned features of queries that were never seen, (q, D)."""
        asked = Vectors.check(queries, "queries", self.vectors.dim)
        vectors = prepare(asked, self.params.metric, self.vectors.scale)
        searcher = Searcher(self.vectors, self.params.metric, self.params.search, self.seed)
        return self.unseen(vectors, searcher.search(vectors, min(self.k, len(self.vectors)))).values

    def unseen(self, queries: Vectors, found: Neighbors) -> Vectors:
        """Learned features of queries whose nearest items by plain similarity are `found`."""
        if self.trained is not None and self.params.unseen == "forward":
            return Vectors(self.trained.features(queries, found))
        expanded = expand(found, Vectors(self.features), self.params.kernel)
        return expand_again(expanded, self.learned, self.k) if self.params.expansions == 2 else expanded

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
        """Write vectors, learned features, weights and parameters to one .safetensors file."""
        arrays = {"vectors": self.vectors.values, "features": self.features}
        if self.trained is not None:
            arrays |= self.trained.state()
        facts = {"parameters": self.params.model_dump(), "seed": self.seed, "k": self.k}
        facts["scale"] = self.vectors.scale
        return write_net(path, arrays, facts)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """A network as `save` wrote it, ready to rank; torch is not needed."""
        arrays, facts = read_net(path)
        try:
            net = cls(seed=facts["seed"], **facts["parameters"])
            scale = checked_scale(facts.get("scale", 1.0))
            vectors = Vectors(Vectors.check(arrays.pop("vectors"), "vectors").values, scale)
            kept = Kept(arrays)
            k = checked_ids(np.asarray(facts["k"]), "k", (), len(vectors) + 1, low=1)
            net.restore(vectors, kept, int(k))
            kept.refuse_others()
            return net
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"{path} is not a GRAD-Net saved by foldwalk: {one_line(error)}.") from None

    def restore(self, vectors: Vectors, kept: Kept, k: int) -> Self:
        """Take what was kept of a training on these vectors."""
        trained = Trained.restore(kept, self.params, vectors)
        width = None if trained is None else trained.width(vectors.dim)
        return self.adopt(vectors, kept.numbers("features", len(vectors), width), k, trained)

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
