"""GRAD-Net: features learned on the graph of mutual neighbours; ranking is plain search among them.

Z. Dou, H. Cui, L. Zhang and B. Wang, "Learning global and local consistent representations for unsupervised
image retrieval via deep graph diffusion networks". With S the normalised affinities of mutual neighbours
(eq. 2 and 8) and H(0) the vectors beside their sparse codes over k-means centres (eq. 9 and 10):

    H(l+1) = LeakyReLU( (I + S) H(l) W1 + S (S H(l) * H(l)) W2 )                               (eq. 16)

Layers are concatenated (eq. 17) and compared by the cosine (eq. 18). The weights are trained on the
collection itself, without labels: neighbours are drawn together (eq. 19), and two neighbourhoods shall be as
similar by one pair of members as by another (eq. 20). An unseen query gets the mean of its nearest items'
features (QFE, eq. 23). Training needs torch; ranking with a method that was fitted or loaded does not.
`model.py` lists the files of the single steps.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from foldwalk.core.types import AnyArray, Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors import Searcher
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.kept import Kept
from foldwalk.rerank.learned.gradnet.choice import largest_k
from foldwalk.rerank.learned.gradnet.model import GradNet
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams
from foldwalk.rerank.order import Reached
from foldwalk.rerank.registry import register


@register
class GradNetMethod(Reranker):
    name = "gradnet"
    family = "learned"
    paper = "Dou et al., Learning global and local consistent representations ... graph diffusion networks"
    summary = "features learned on the graph of mutual neighbours, without labels; then plain search"
    Parameters = GradNetParams
    needs_training = True
    # Queries around which to train, while fitting.
    _asked: npt.ArrayLike | None = None

    def fit(
        self,
        gallery: npt.ArrayLike | None = None,
        y: Any = None,
        *,
        queries: npt.ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """As every method; with `truncate`, only the nearest items of these `queries` train (section 3.7)."""
        self._asked = queries
        try:
            return super().fit(gallery, y, **options)
        finally:
            self._asked = None

    def _prepare(self) -> None:
        self.model = GradNet(seed=self.seed, **self.params.model_dump())
        rows = self._truncated()
        if rows is None:
            wanted = self.params.fixed_k or self.as_many_as_given(largest_k(self.params))
            self.model.fit_graph(self.vectors, self.neighbors(wanted))
        else:
            part = GradNet(seed=self.seed, **self.params.model_dump() | {"truncate": 0})
            part.fit_prepared(Vectors(self.vectors.values[rows], self.vectors.scale))
            self.model.adopt_part(self.vectors, rows, part)
        self._index()

    def _wanted(self, _: int) -> int:
        """Where k is still to be chosen, it is chosen among as many as there are."""
        return self.params.fixed_k or 0

    def _truncated(self) -> IntArray | None:
        """Section 3.7: the nearest items of each query and the queries that joined; None for everybody."""
        if not self.params.truncate:
            return None
        joined = np.arange(self.candidates, len(self.vectors))
        if len(joined):
            nearest = self.search_rows(joined, self.params.truncate)
        else:
            asked = self.model.check_queries(self._asked, self.vectors)
            nearest = self.search(asked, self.params.truncate)
        return np.concatenate([np.unique(nearest.ids[nearest.ids >= 0]), joined])

    def _index(self) -> None:
        self.learned = Searcher(
            Vectors(self.model.features[: self.candidates]), "cosine", self.params.search, self.seed
        )

    def fit_transform(self, gallery: npt.ArrayLike, y: Any = None) -> Float32Array:  # noqa: ARG002
        """Train, and give the features learned for the gallery itself; `transform` is for everybody else."""
        return self.fit(gallery).model.features

    def transform(self, queries: npt.ArrayLike) -> Float32Array:
        """The learned features of queries that were never seen."""
        _ = self.vectors  # refuses where there is none
        return self.model.transform(queries)

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        return self._nearest(self.model.unseen(queries, self.search(queries, self.model.k)), None, top)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        own = np.where(rows < self.candidates, rows, -1)
        return self._nearest(Vectors(self.model.features[rows]), own, top)

    def _nearest(self, features: Vectors, own: IntArray | None, top: int) -> Reached:
        found = self.learned.search(features, min(top, self.candidates), own)
        return Reached(found.ids, found.similarities)

    def _state(self) -> dict[str, AnyArray]:
        kept = {} if self.model.trained is None else self.model.trained.state()
        return {"features": self.model.features, "k": np.array(self.model.k), **kept}

    def _restore(self, kept: Kept) -> None:
        self.model = GradNet(seed=self.seed, **self.params.model_dump())
        self.model.restore(self.vectors, kept, kept.whole_number("k", 1, len(self.vectors)))
        self._index()
