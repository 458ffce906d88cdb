"""A method in several views of the same vectors: fitted in each, its answers fused.

In each view a query's first 400 get z = (s - last) / (first - last), and what counts is the sum of z over the
views. What no view reaches follows by similarity in the first of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from foldwalk import views
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors.beside import lists_beside
from foldwalk.neighbors.exact import FARTHEST_UP_TO
from foldwalk.rerank.kept import Kept
from foldwalk.rerank.order import Reached
from foldwalk.rerank.precomputed import KnownPairs
from foldwalk.views.registry import Chain
from foldwalk.walk.members import fused_lists

if TYPE_CHECKING:
    from foldwalk.rerank.base import Reranker

RAW = "raw"
DEEP = 400  # of each view's answer that are fused


class LearnedViews(Protocol):
    """Views that were learned before, and what is known of the items in them.

    `version` tells them from others of the same names.
    """

    @property
    def version(self) -> int: ...

    def views(self, names: Sequence[str]) -> dict[str, Chain]: ...

    def neighbors(self, name: str, seen: Vectors, others: Sequence[Neighbors] = ()) -> Neighbors:
        """Of the items as a view shows them; `others`, in other views, may be all to look among."""


class Seen:
    """One method for each view, all of the same items."""

    def __init__(
        self, learned: LearnedViews | None = None, listed: Collection[str] = (), between: str = ""
    ) -> None:
        """Views are `learned` before, or by `fit`; `listed` are those whose neighbours are needed.

        What is near in the view `between` the others is, of many items, looked for among what is near there.
        """
        self.learned, self.listed, self.between = learned, listed, between
        self.views: dict[str, Chain] = {}
        self.methods: dict[str, Reranker] = {}
        self._handed: set[str] = set()  # views whose neighbours are those that were known

    def fit(
        self,
        create: Callable[[str], Reranker],
        names: Sequence[str],
        vectors: Vectors,
        candidates: int,
        neighbors: Neighbors | None,
        pairs: KnownPairs | None = None,
    ) -> Seen:
        """Fit what `create` makes for each view by its name; `neighbors` are those of the raw view.

        Views that are yet to be learned are, from those that may be answered.
        """
        if self.learned is None:
            self.views = views.learn(names, vectors.values[:candidates])
        else:
            self.views = self.learned.views(names)
        fitted: dict[str, Reranker] = {}
        for name in sorted(self.views, key=lambda name: name == self.between):
            seen, method = _as_seen(self.views[name], vectors), create(name)
            known = neighbors if name == RAW else self._known(name, seen, method, self._others(name, fitted))
            fitted[name] = method.adopt(seen, candidates=candidates, neighbors=known, pairs=pairs)
        self.methods = {name: fitted[name] for name in self.views}
        return self

    def _others(self, name: str, fitted: dict[str, Reranker]) -> list[Neighbors]:
        """The lists of the views on both sides, where they are to be searched instead of all items."""
        lists = [m.known_neighbors for m in fitted.values() if m.known_neighbors is not None]
        enough = len(lists) > 1 and len(lists[0]) > FARTHEST_UP_TO
        return lists if name == self.between and enough else []

    def _known(
        self, name: str, seen: Vectors, method: Reranker, others: Sequence[Neighbors] = ()
    ) -> Neighbors | None:
        """The neighbours in a view; None where the method is to find them, or needs none."""
        if name not in self.listed:
            return None
        if self.learned is None:
            return lists_beside(seen, others, min(o.k for o in others)) if others else None
        known = self.learned.neighbors(name, seen, others)
        if not method.can_take(known, len(seen)):
            return None
        self._handed.add(name)
        return known

    def state(self, whole: bool = True) -> dict[str, AnyArray]:
        """What was learned and fitted; without `whole`, what was known before is left out."""
        kept: dict[str, AnyArray] = {}
        if whole or self.learned is None:
            kept |= {f"view.{part}": array for part, array in views.state(self.views.values()).items()}
        for name, method in self.methods.items():
            kept |= {f"{name}.state.{part}": array for part, array in method.state().items()}
            known = method.known_neighbors
            if name != RAW and known is not None and (whole or name not in self._handed):
                kept |= {f"{name}.ids": known.ids, f"{name}.similarities": known.similarities}
                if known.least is not None:
                    kept[f"{name}.least"] = known.least
        return kept

    def restore(
        self,
        create: Callable[[str], Reranker],
        names: Sequence[str],
        kept: Kept,
        vectors: Vectors,
        candidates: int,
        neighbors: Neighbors | None,
        pairs: KnownPairs | None = None,
    ) -> Seen:
        """The opposite of `state`: of the whole, or without it where the views were learned before."""
        if self.learned is None:
            self.views = views.restore(names, kept.under("view.").handed_on(), vectors.dim)
        else:
            self.views = self.learned.views(names)
        for name, view in self.views.items():
            seen, method = _as_seen(view, vectors), create(name)
            known = neighbors if name == RAW else _neighbors(kept, name, len(vectors))
            if name != RAW and known is None:
                known = self._known(name, seen, method)
            self.methods[name] = method.adopt(
                seen,
                candidates=candidates,
                neighbors=known,
                state=kept.under(f"{name}.state.").handed_on(),
                pairs=pairs,
            )
        return self

    def queries(self, queries: Vectors) -> Iterator[tuple[str, Reranker, Vectors]]:
        """Each view and its method, with the queries as it shows them."""
        for name, method in self.methods.items():
            yield name, method, _as_seen(self.views[name], queries)

    def reached_from(self, queries: Vectors, top: int) -> Reached:
        deep = self._deep(top)
        return self._fused([m.reached_from(seen, deep) for _, m, seen in self.queries(queries)], top)

    def reached_from_rows(self, rows: IntArray, top: int) -> Reached:
        deep = self._deep(top)
        return self._fused([m.reached_from_rows(rows, deep) for m in self.methods.values()], top)

    @property
    def first(self) -> Reranker:
        """The method in the first of the views."""
        return next(iter(self.methods.values()))

    def nearest(self, queries: Vectors, top: int, name: str | None = None) -> Neighbors:
        """By plain similarity in one view, the first unless another is named."""
        name = name or next(iter(self.views))
        return self.methods[name].search(_as_seen(self.views[name], queries), top)

    def _deep(self, top: int) -> int:
        """One view alone needs no common range, and goes as deep as is asked for."""
        return min(DEEP, self.first.candidates) if len(self.methods) > 1 else top

    def _fused(self, answers: list[Reached], top: int) -> Reached:
        if len(answers) == 1:
            return answers[0]
        return fused(answers, [1 / len(answers)] * len(answers), self.first.candidates, top)


def fused(answers: Sequence[Reached], weights: Sequence[float], n: int, top: int) -> Reached:
    """The best by the weighted sum of z."""
    return Reached(*fused_lists([(a.ids, a.scores) for a in answers], weights, n, top))


def _as_seen(view: Chain, vectors: Vectors) -> Vectors:
    seen = view.see(vectors.values)
    return vectors if seen is vectors.values else Vectors(seen)


def _neighbors(kept: Kept, name: str, n: int) -> Neighbors | None:
    there = kept.names()
    if f"{name}.ids" not in there:
        return None
    ids = kept.ids(f"{name}.ids", n, None, below=n, low=-1)
    similarities = kept.numbers(f"{name}.similarities", *ids.shape)
    checked = Neighbors.check(ids, similarities, n)
    least = kept.numbers(f"{name}.least", n) if f"{name}.least" in there else None
    return Neighbors(checked.ids, checked.similarities, "cosine", 1.0, "kept", least)
