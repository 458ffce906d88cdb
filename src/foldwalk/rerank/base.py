"""What every re-ranker is: fit once, rank unseen queries, rank the gallery itself, or rank transductively.

A method provides three steps and inherits the rest:

    _prepare()               look at `self.vectors` (and `self.neighbors(k)`) once
    _walk_new(queries, top)  scores of the items reached from queries that were never seen
    _walk_rows(rows, top)    scores of the items reached from rows of `self.vectors`

Transductive ranking is `_prepare` on gallery and queries together and `_walk_rows` of the queries' rows;
`self.candidates` then says that only the first so many rows may be answered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Self

import numba
import numpy as np
import numpy.typing as npt

from foldwalk.core.errors import BadInput, NotFitted
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.ranking import Ranking
from foldwalk.core.seeds import check_seed
from foldwalk.core.types import AnyArray, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors import Searcher, knn_graph, prepare
from foldwalk.neighbors.exact import FARTHEST_UP_TO
from foldwalk.rerank.order import Reached, complete, filled
from foldwalk.rerank.params import Params

SAMPLE, FEW = 2_000, 256
DENSE_UP_TO = 5_000


class Reranker(ABC):
    """Base of every method. `seed` drives whatever is random in it."""

    name: ClassVar[str]
    family: ClassVar[str]
    paper: ClassVar[str]
    summary: ClassVar[str]
    Parameters: ClassVar[type[Params]] = Params
    params: Any

    def __init__(self, params: Params | None = None, seed: int = 0) -> None:
        self.params = params if params is not None else self.Parameters()
        self.seed = check_seed(seed)
        self._vectors: Vectors | None = None
        self._neighbors: Neighbors | None = None
        self._given = False
        self.candidates = 0

    # What a user calls ------------------------------------------------------------------------------------

    def fit(
        self, gallery: npt.ArrayLike, neighbors: Neighbors | tuple[npt.ArrayLike, npt.ArrayLike] | None = None
    ) -> Self:
        """Learn the gallery, (n, d). `neighbors`, if known already, is (ids, similarities) without self."""
        vectors = Vectors.check(gallery, "gallery")
        known = neighbors
        if known is not None and not isinstance(known, Neighbors):
            known = Neighbors.check(known[0], known[1], len(vectors), self.params.metric)
        if known is not None and len(known) != len(vectors):
            raise BadInput(f"neighbors has {len(known)} rows, but the gallery has {len(vectors)} items.")
        self._adopt(prepare(vectors, self.params.metric), len(vectors), known)
        return self

    def rank(self, queries: npt.ArrayLike, top: int = 100) -> Ranking:
        """Rank the fitted gallery for queries that were never seen before."""
        vectors = prepare(Vectors.check(queries, "queries", self.vectors.dim), self.params.metric)
        top = self._check_top(top, self.candidates)
        threads = numba.get_num_threads()
        # One query gives a second thread nothing to do, and waking it costs as much as a kernel.
        numba.set_num_threads(1 if len(vectors) == 1 else threads)
        try:
            return self._finish(self._walk_new(vectors, top), vectors, None, top)
        finally:
            numba.set_num_threads(threads)

    def rank_self(self, top: int = 100) -> Ranking:
        """Rank the gallery for each of its own items, the item itself left out."""
        rows = np.arange(len(self.vectors))
        top = self._check_top(top, len(rows) - 1)
        if top == 0:
            return Ranking(np.zeros((1, 0), np.int64), np.zeros((1, 0), np.float32))
        return self._finish(self._walk_rows(rows, top), self.vectors, rows, top)

    def rerank(self, queries: npt.ArrayLike, gallery: npt.ArrayLike, top: int = 100) -> Ranking:
        """Rank the gallery for queries that join its graph (transductive, as in the papers).

        The fitted state of this object, if any, is neither used nor changed.
        """
        items = Vectors.check(gallery, "gallery")
        asked = Vectors.check(queries, "queries", items.dim)
        joined = self._unfitted()
        everyone = Vectors(np.concatenate([items.values, asked.values]))
        joined._adopt(prepare(everyone, self.params.metric), len(items), None)
        rows = np.arange(len(items), len(items) + len(asked))
        top = self._check_top(top, len(items))
        own = Vectors(joined.vectors.values[rows])
        return joined._finish(joined._walk_rows(rows, top), own, None, top)

    # What a method provides -------------------------------------------------------------------------------

    @abstractmethod
    def _prepare(self) -> None: ...

    @abstractmethod
    def _walk_new(self, queries: Vectors, top: int) -> Reached: ...

    @abstractmethod
    def _walk_rows(self, rows: IntArray, top: int) -> Reached: ...

    def _unfitted(self) -> Self:
        """A method like this one that has seen no gallery."""
        return type(self)(self.params, self.seed)

    def _state(self) -> dict[str, AnyArray]:
        """What `_prepare` computed and `save` should keep; without it, loading prepares again."""
        return {}

    def _restore(self, state: dict[str, AnyArray]) -> None:
        """The opposite of `_state`."""
        raise NotImplementedError

    # What a method may use --------------------------------------------------------------------------------

    @property
    def vectors(self) -> Vectors:
        """The fitted vectors as the metric sees them."""
        if self._vectors is None:
            raise NotFitted(f"{self.name} has no gallery yet: call fit(gallery) first.")
        return self._vectors

    def neighbors(self, k: int) -> Neighbors:
        """The k nearest others of every fitted item; fewer when there are fewer others."""
        k = min(k, len(self.vectors) - 1)
        if k < 1:
            empty = np.zeros((len(self.vectors), 0))
            return Neighbors(empty.astype(np.int32), empty.astype(np.float32), self.params.metric)
        if self._neighbors is None or self._neighbors.k < k:
            if self._given and self._neighbors is not None:
                raise BadInput(
                    f"neighbors has {self._neighbors.k} per item, but {self.name} needs {k}: "
                    f"hand in more, or ask for smaller neighbourhoods."
                )
            self._neighbors = knn_graph(self.vectors, k, self.params.metric, seed=self.seed)
        return self._neighbors.first(k)

    def limit(self, name: str) -> int:
        """The parameter `name`, which says how much is kept of each item; everything with `dense=True`."""
        return len(self.vectors) if self.params.dense else int(getattr(self.params, name))

    def search(self, queries: Vectors, k: int, own: IntArray | None = None) -> Neighbors:
        """The k nearest candidates of each query by plain similarity, without `own`."""
        return self.searcher.search(queries, min(k, self.candidates), own)

    @cached_property
    def everyone(self) -> Searcher:
        """Searches all fitted vectors, queries that joined the gallery included."""
        return Searcher(self.vectors, self.params.metric, seed=self.seed)

    @cached_property
    def sample(self) -> Vectors:
        """The fitted vectors, or every n / 2,000-th of them where there are many: enough to set a scale."""
        n = len(self.vectors)
        if n <= FARTHEST_UP_TO:
            return self.vectors
        return Vectors(np.ascontiguousarray(self.vectors.values[:: n // SAMPLE]))

    @cached_property
    def few(self) -> Vectors:
        """The fitted vectors, or every n / 256-th of them where there are many: one is about the farthest."""
        n = len(self.vectors)
        if n <= FARTHEST_UP_TO:
            return self.vectors
        return Vectors(np.ascontiguousarray(self.vectors.values[:: n // FEW]))

    def search_rows(self, rows: IntArray, k: int) -> Neighbors:
        """The k nearest candidates of fitted rows by plain similarity, themselves left out."""
        own = np.where(rows < self.candidates, rows, -1)
        return self.search(Vectors(self.vectors.values[rows]), k, own)

    # ------------------------------------------------------------------------------------------------------

    def _adopt(
        self,
        vectors: Vectors,
        candidates: int,
        neighbors: Neighbors | None,
        state: dict[str, AnyArray] | None = None,
    ) -> None:
        """Take vectors as the metric sees them, of which the first `candidates` may be answered."""
        if neighbors is not None and neighbors.metric != self.params.metric:
            raise BadInput(
                f"neighbors are by {neighbors.metric}, but {self.name} was created with "
                f"metric={self.params.metric!r}."
            )
        if getattr(self.params, "dense", False) and len(vectors) > DENSE_UP_TO:
            raise BadInput(
                f"{self.name}: dense=True holds n x n numbers and is refused above {DENSE_UP_TO} items, "
                f"but there are {len(vectors)}: leave it out."
            )
        self._vectors = vectors
        self._neighbors, self._given = neighbors, neighbors is not None
        self.candidates = candidates
        for cached in ("everyone", "sample", "few"):
            self.__dict__.pop(cached, None)
        gallery = Vectors(self.vectors.values[:candidates])
        self.searcher = Searcher(gallery, self.params.metric, self.params.search, self.seed)
        if state is None:
            self._prepare()
        else:
            self._restore(state)

    def _check_top(self, top: int, most: int) -> int:
        if isinstance(top, bool) or not isinstance(top, (int, np.integer)) or top < 1:
            raise BadInput(f"top must be a whole number of at least 1, but it is {top!r}.")
        return min(int(top), most)

    def _finish(self, reached: Reached, queries: Vectors, own: IntArray | None, top: int) -> Ranking:
        """Reached items first; where they do not fill a row, the rest follows by plain similarity."""

        def plain_of(rows: IntArray) -> Neighbors:
            left_out = None if own is None else own[rows]
            return complete(
                self.search(Vectors(queries.values[rows]), top, left_out), left_out, self.candidates
            )

        return Ranking(*filled(reached, top, plain_of))

    def __repr__(self) -> str:
        chosen = ", ".join(f"{k}={v!r}" for k, v in self.params.model_dump(exclude_defaults=True).items())
        return f"<{self.name}({chosen})>"
