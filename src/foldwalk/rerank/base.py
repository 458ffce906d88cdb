"""What every re-ranker is: fit once, rank unseen queries, rank the gallery itself, or rank transductively.

A method provides three steps and inherits the rest:

    _prepare()               look at `self.vectors` (and `self.neighbors()`) once
    _walk_new(queries, top)  scores of the items reached from queries that were never seen
    _walk_rows(rows, top)    scores of the items reached from rows of `self.vectors`

Transductive ranking is `_prepare` on gallery and queries together and `_walk_rows` of the queries' rows;
`self.candidates` then says that only the first so many rows may be answered. Where queries change nothing for
each other (`joins_graph = False`), it is `fit` and `rank`.

An index or a store, which knows vectors and neighbours already, calls `adopt`, `state` and `rank_rows`, and
may ask `can_take` before it hands neighbours in; a method that hands its work to another calls `reached_from`
and `reached_from_rows`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, Self

import numba
import numpy as np
import numpy.typing as npt

from foldwalk.core.errors import BadInput, NotFitted, TooFewNeighbors
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.ranking import Ranking, check_top
from foldwalk.core.types import AnyArray, Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.machine.forked import refuse_forked
from foldwalk.neighbors import Searcher, knn_graph, prepare
from foldwalk.neighbors.exact import FARTHEST_UP_TO
from foldwalk.neighbors.given import taken
from foldwalk.neighbors.similarity import pair_similarities
from foldwalk.rerank.kept import Kept, flatten
from foldwalk.rerank.order import Reached, complete, filled
from foldwalk.rerank.parameterized import Parameterized
from foldwalk.rerank.params import parameters_of
from foldwalk.rerank.precomputed import DENSE_UP_TO, NO_QUERIES, KnownPairs
from foldwalk.rerank.seen import RAW, LearnedViews, Seen
from foldwalk.rerank.short_lists import rerank_lists

SAMPLE, FEW = 2_000, 256


class Reranker(Parameterized, ABC):
    """Base of every method. Parameters are given by name: `CAS(cluster_k=10, seed=1)`."""

    family: ClassVar[str]
    paper: ClassVar[str]
    summary: ClassVar[str]
    # Whether fitting trains a network.
    needs_training: ClassVar[bool] = False
    # Whether queries of `rerank` become part of the graph, where they may change each other's answers.
    joins_graph: ClassVar[bool] = True
    # Whether a new query's nearest items, and what was kept of each item that the walk meets, are all that an
    # answer takes: neither the gallery's vectors nor the graph as a whole.
    answers_from_rows: ClassVar[bool] = False
    # Whether it lives on neighbours and distances of pairs alone, so that these may be handed in instead of
    # vectors: then `self.vectors` only numbers the items, for `search` and `similarities` to look them up.
    takes_distances: ClassVar[bool] = False
    # Whether it deals with `views` itself; else it is fitted in each of several, and the answers are fused.
    sees_views: ClassVar[bool] = False

    def __init__(self, *, seed: int = 0, **parameters: Any) -> None:
        super().__init__(seed=seed, **parameters)
        self._vectors: Vectors | None = None
        self._neighbors: Neighbors | None = None
        self._given = False
        self.pairs: KnownPairs | None = None
        self.candidates = 0
        self.vector_scale = 1.0  # of the vectors: queries are brought to it
        self.in_views: Seen | None = None
        self.known_views: LearnedViews | None = None

    # What a user calls ------------------------------------------------------------------------------------

    def fit(
        self,
        gallery: npt.ArrayLike | None = None,
        y: Any = None,
        *,
        neighbors: Neighbors | tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        distances: Any = None,
        graph: Any = None,
    ) -> Self:
        """Learn the gallery, (n, d). `neighbors`, if known already, is (ids, similarities).

        They may come as a vector database gives them: not sorted, with the item itself, with ids of -1. Some
        are compared with the vectors: squared distances are converted, other distances are refused.
        Without vectors, `distances` or similarities (`graph`) of pairs are enough for methods that live on
        them, n x n, dense or sparse (`precomputed.py`); `rank_self` and `rank_rows` then answer.

        `y` has a place because scikit-learn gives it one; it is not looked at.
        """
        if isinstance(y, Neighbors):
            raise BadInput("neighbours are handed in by name: fit(gallery, neighbors=...).")
        if gallery is None or distances is not None or graph is not None:
            if gallery is not None or neighbors is not None or (distances is None) == (graph is None):
                raise BadInput("fit takes a gallery of vectors, or distances=, or graph=: one of the three.")
            pairs = KnownPairs.check(distances, graph, self.name, self.takes_distances)
            return self.adopt(pairs.items, pairs=pairs)
        metric = self.params.metric
        given = Vectors.check(gallery, "gallery")
        vectors = prepare(given, metric)
        known = None if neighbors is None else taken(neighbors, given, vectors, metric)
        return self.adopt(vectors, neighbors=known)

    def rank(self, queries: npt.ArrayLike, top: int = 100) -> Ranking:
        """Rank the fitted gallery for queries that were never seen before."""
        refuse_forked()
        dim = self.vectors.dim
        if self.pairs is not None:
            raise BadInput(NO_QUERIES.format(name=self.name))
        asked = Vectors.check(queries, "queries", dim)
        vectors = prepare(asked, self.params.metric, self.vector_scale)
        top = check_top(top, self.candidates)
        threads = numba.get_num_threads()
        # One query gives a second thread nothing to do, and waking it costs as much as a kernel.
        numba.set_num_threads(1 if len(vectors) == 1 else threads)
        try:
            reached = self.reached_from(vectors, top)
            return self._filled(
                reached, None, top, lambda some: self._plain_new(Vectors(vectors.values[some]), top)
            )
        finally:
            numba.set_num_threads(threads)

    def rank_self(self, top: int = 100) -> Ranking:
        """Rank the gallery for each of its own items, the item itself left out."""
        return self.rank_rows(np.arange(self.candidates), top)

    def rerank(self, queries: npt.ArrayLike, gallery: npt.ArrayLike, top: int = 100) -> Ranking:
        """Rank the gallery for queries that join its graph (transductive, as in the papers).

        The fitted state of this object, if any, is neither used nor changed.
        """
        items = Vectors.check(gallery, "gallery")
        asked = Vectors.check(queries, "queries", items.dim)
        fresh, metric = self._unfitted(), self.params.metric
        if not self.joins_graph:
            return fresh.adopt(prepare(items, metric)).rank(asked.values, top)
        everyone = Vectors(np.concatenate([items.values, asked.values]))
        fresh.adopt(prepare(everyone, metric), candidates=len(items))
        return fresh.rank_rows(np.arange(len(items), len(everyone)), top)

    def rerank_candidates(self, queries: npt.ArrayLike, candidates: Any, top: int = 100) -> Ranking:
        """Re-rank short lists that another search returned, each query with its own list as the gallery.

        `queries` (q, d) go with `candidates` (q, c, d) or a list of q arrays (c_i, d); one query (d,) with
        its (c, d). Ids are places in the query's list. No list may be shorter than `top`, which is cut to the
        longest. The fitted state, if any, is neither used nor changed; docs/short-lists.md says what is lost
        against the graph of the whole gallery.
        """
        if self.needs_training:
            raise BadInput(
                f"{self.name} trains a network, which a short list is too little for: fit the gallery."
            )
        return rerank_lists(self, queries, candidates, top)

    # What an index, a store or another method calls -------------------------------------------------------

    def adopt(
        self,
        vectors: Vectors,
        *,
        candidates: int | None = None,
        neighbors: Neighbors | None = None,
        state: dict[str, AnyArray] | None = None,
        pairs: KnownPairs | None = None,
        learned: LearnedViews | None = None,
    ) -> Self:
        """Take over a gallery as the metric sees it, without a copy; the first `candidates` may be answered.

        With its `neighbors` nothing is searched, and with the `state` of a method that was fitted to the same
        gallery nothing is computed again. `pairs` are what is known where `vectors` are only their numbers.
        With `learned` it looks through views that are known, and `state` is what `state(whole=False)` gave.
        """
        refuse_forked()
        metric = self.params.metric if pairs is None else pairs.metric
        if neighbors is not None and neighbors.metric != metric:
            raise BadInput(
                f"neighbors are by {neighbors.metric}, but {self.name} was created with metric={metric!r}."
            )
        if neighbors is not None and len(neighbors) != len(vectors):
            raise BadInput(f"neighbors has {len(neighbors)} rows, but the gallery has {len(vectors)} items.")
        if getattr(self.params, "dense", False) and len(vectors) > DENSE_UP_TO:
            raise BadInput(
                f"{self.name}: dense=True holds n x n numbers and is refused above {DENSE_UP_TO} items, "
                f"but there are {len(vectors)}: leave it out."
            )
        self._vectors, self.pairs, self.known_views = vectors, pairs, learned
        self._neighbors, self._given = neighbors, neighbors is not None
        self.candidates = len(vectors) if candidates is None else candidates
        self.vector_scale = vectors.scale
        for cached in ("everyone", "sample", "few"):
            self.__dict__.pop(cached, None)
        # With pairs alone it would search among numbers: `search` does not ask it.
        gallery = Vectors(vectors.values[: self.candidates])
        self.searcher = Searcher(gallery, self.params.metric, self.params.search, self.seed)
        try:
            kept = Kept(state) if state else None
            self.in_views = self._seen(kept) if self._looks_through_views() else None
            if self.in_views is None and kept is not None:
                self._restore(kept)
            elif self.in_views is None:
                self._prepare()
            if kept is not None:
                kept.refuse_others()
        except BaseException:
            self._vectors = None  # half-fitted is not fitted
            raise
        return self

    def state(self, whole: bool = True) -> dict[str, AnyArray]:
        """What fitting computed, for `adopt`; empty where computing it again is as quick.

        Without `whole`, views that came as `learned`, and the neighbours in them, are left out.
        """
        _ = self.vectors  # refuses where there is none
        return flatten(self._state() if self.in_views is None else self.in_views.state(whole))

    def views_wanted(self, n: int) -> tuple[str, ...]:  # noqa: ARG002
        """The views of n items that it looks through, beside the raw one."""
        if not self._looks_through_views():
            return ()
        return tuple(name for name in self.params.views.split(",") if name != RAW)

    @property
    def known_neighbors(self) -> Neighbors | None:
        """The neighbours of all items, handed in or found; None as long as there was no need of them."""
        return self._neighbors

    def can_take(self, neighbors: Neighbors, n: int) -> bool:
        """Whether these are neighbours of n items by this metric, and enough for these parameters."""
        enough = neighbors.k >= min(self._wanted(n), n - 1)
        return enough and neighbors.metric == self.params.metric and len(neighbors) == n

    def rank_rows(self, rows: npt.ArrayLike, top: int = 100) -> Ranking:
        """Rank for some rows of the adopted vectors: items, themselves left out, or queries behind them."""
        refuse_forked()
        asked, n = np.asarray(rows), len(self.vectors)
        if asked.ndim != 1 or asked.dtype.kind not in "iu" or not len(asked):
            raise BadInput(f"rows must be a list of whole numbers, but it is {rows!r}.")
        if asked.min() < 0 or asked.max() >= n:
            raise BadInput(f"rows must be from 0 to {n - 1}.")
        asked = asked.astype(np.int64, copy=False)
        top = check_top(top, self.candidates - bool(asked.min() < self.candidates))
        if top == 0:
            return Ranking(np.zeros((len(asked), 0), np.int64), np.zeros((len(asked), 0), np.float32))
        reached = self.reached_from_rows(asked, top)
        return self._filled(reached, asked, top, lambda some: self._plain_rows(asked[some], top))

    def reached_from(self, queries: Vectors, top: int) -> Reached:
        """What the walk reaches from new queries, as the metric sees them: `rank` without the rest."""
        if self.in_views is not None:
            return self.in_views.reached_from(queries, top)
        return self._walk_new(queries, top)

    def reached_from_rows(self, rows: IntArray, top: int) -> Reached:
        """What the walk reaches from rows of the adopted vectors: `rank_rows` without the rest."""
        if self.in_views is not None:
            return self.in_views.reached_from_rows(rows, top)
        return self._walk_rows(rows, top)

    # What a method provides -------------------------------------------------------------------------------

    @abstractmethod
    def _prepare(self) -> None: ...

    @abstractmethod
    def _walk_new(self, queries: Vectors, top: int) -> Reached: ...

    @abstractmethod
    def _walk_rows(self, rows: IntArray, top: int) -> Reached: ...

    def _wanted(self, n: int, /) -> int:  # noqa: ARG002
        """How many neighbours of each of n items `_prepare` asks for; by default its largest size."""
        sizes = (getattr(self.params, p.name) for p in parameters_of(self.Parameters) if p.neighborhood)
        return int(max(sizes, default=0))

    def _plain_new(self, queries: Vectors, top: int) -> Neighbors:
        """In which order what new queries do not reach follows."""
        return self.search(queries, top) if self.in_views is None else self.in_views.nearest(queries, top)

    def _plain_rows(self, rows: IntArray, top: int) -> Neighbors:
        found = self if self.in_views is None else self.in_views.first
        return found.search_rows(rows, top)

    @property
    def note(self) -> str:
        """What was done and why, in a sentence, where there is something to say."""
        return ""

    def _unfitted(self) -> Self:
        """A method like this one that has seen no gallery."""
        return type(self)(**self.get_params())

    def _state(self) -> dict[str, Any]:
        """Arrays and sparse matrices that `_prepare` computed; without them, loading prepares again."""
        return {}

    def _restore(self, kept: Kept, /) -> None:  # noqa: ARG002
        """The opposite of `_state`: asks for each array with what it must be, for files may be anyone's."""
        raise BadInput(f"{self.name} keeps nothing beside vectors and neighbours.")

    # What a method may use --------------------------------------------------------------------------------

    @property
    def vectors(self) -> Vectors:
        """The fitted vectors as the metric sees them."""
        if self._vectors is None:
            raise NotFitted(f"{self.name} has no gallery yet: call fit(gallery) first.")
        return self._vectors

    @property
    def metric(self) -> str:
        """What similarities mean: the parameter, or what known pairs say."""
        return str(self.params.metric) if self.pairs is None else self.pairs.metric

    def neighbors(self, k: int | None = None) -> Neighbors:
        """The k nearest others of every fitted item, by default as many as wanted; fewer in a small set."""
        n = len(self.vectors)
        k = min(self._wanted(n) if k is None else k, n - 1)
        if k < 1:
            empty = np.zeros((n, 0))
            return Neighbors(empty.astype(np.int32), empty.astype(np.float32), self.metric)
        if self._neighbors is None or self._neighbors.k < k:
            if self._given and self._neighbors is not None:
                raise TooFewNeighbors(
                    f"neighbors has {self._neighbors.k} per item, but {self.name} needs {k}: "
                    f"hand in more, or ask for smaller neighbourhoods."
                )
            if self.pairs is not None:
                self._neighbors = self.pairs.nearest(k, self.name)
            else:
                self._neighbors = knn_graph(self.vectors, k, self.metric, seed=self.seed)
        return self._neighbors.first(k)

    def as_many_as_given(self, k: int) -> int:
        """k, or the number of neighbours that were handed in where it is less."""
        if self.pairs is not None:
            return min(k, self.pairs.longest)
        return min(k, self._neighbors.k) if self._given and self._neighbors is not None else k

    def limit(self, name: str, n: int | None = None) -> int:
        """The parameter `name`, which says how much is kept of each item; everything with `dense=True`."""
        if self.params.dense:
            return len(self.vectors) if n is None else n
        return int(getattr(self.params, name))

    def search(self, queries: Vectors, k: int, own: IntArray | None = None) -> Neighbors:
        """The k nearest candidates of each query by plain similarity, without `own`."""
        if self.pairs is not None:
            return self.pairs.search(queries, min(k, self.candidates))
        return self.searcher.search(queries, min(k, self.candidates), own)

    def similarities(self, queries: Vectors, indptr: IntArray, items: AnyArray) -> Float32Array:
        """Of each pair of a CSR pattern: query q with the fitted items[indptr[q] : indptr[q + 1]]."""
        if self.pairs is not None:
            return self.pairs.similarities(queries, indptr, items)
        cosine = self.metric == "cosine"
        return np.asarray(pair_similarities(queries.values, self.vectors.values, indptr, items, cosine))

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

    def _looks_through_views(self) -> bool:
        """Whether it is to be fitted in views other than the raw one, which takes vectors and the cosine."""
        named = self.params.views
        if self.sees_views or named == RAW:
            return False
        if self.needs_training:
            raise BadInput(f"{self.name} learns a view of its own: leave out views={named!r}.")
        if self.pairs is not None or self.params.metric != "cosine":
            raise BadInput(f"views={named!r} are of vectors compared by the cosine: leave views out.")
        return True

    def _seen(self, kept: Kept | None) -> Seen:
        inner = {**self.get_params(), "views": RAW}
        names = self.params.views.split(",")
        place = self.vectors, self.candidates, self._neighbors
        seen = Seen(self.known_views, names if self._wanted(len(self.vectors)) else ())

        def create(_: str) -> Reranker:
            return type(self)(**inner)

        if kept is not None:
            return seen.restore(create, names, kept, *place)
        return seen.fit(create, names, *place)

    def _filled(
        self, reached: Reached, own: IntArray | None, top: int, plain_of: Callable[[IntArray], Neighbors]
    ) -> Ranking:
        """Reached items first; where they do not fill a row, the rest follows by plain similarity."""

        def rest_of(some: IntArray) -> Neighbors:
            if self.pairs is not None:
                return plain_of(some)
            return complete(plain_of(some), None if own is None else own[some], self.candidates)

        ids, scores = filled(reached, top, rest_of)
        if self.pairs is not None and own is not None:
            self.pairs.refuse_gaps(ids, own, self.name)
        return Ranking(ids, scores, self.note)

    def _fitted_dim(self) -> int | None:
        return None if self._vectors is None else self._vectors.dim

    def __sklearn_clone__(self) -> Self:
        return self._unfitted()
