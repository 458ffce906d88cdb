"""Several views of the vectors, one ranking: what holds in all of them comes first. No labels, no settings.

No rule without labels selects a method as well as a good fusion ranks. So no method is selected here. The
vectors are seen in up to three views: as they are; w25 and w50, square roots along the principal axes,
frequent directions scaled down a little and more. A view counts if two halves of the numbers agree in it
about the nearest (halves.py). The size g of the groups is read off the graph (group.py). CAS with the sizes
of g answers in each view, in the first and third along paths, in the second directly. Beside it stands the
contextual dissimilarity (CDM), which looks no further than the nearest and so does not go astray. With z the
scores of a query's first answers brought to the range from 0 to 1 (walk/members.py),

    F = mean of the z of CAS in all views,   W = z of CAS in the last,   C = z of CDM among the 150 nearest
    score  =  C              where g < 2: not even two items can be relied on
              W + C          where g <= 5, or there are fewer than 250 items; C is of the last view
              F + .15 C      otherwise; C is of w25

and what nobody reaches follows by similarity in the view of C. Of one view alone F is the mean of both ways;
where it is alone because whitening fails, the items lie along curves, and F is the walk along paths. The
first 400 answers count, or 200 where groups end within sight. Numbers and switch come from a study on
fourteen collections, the halves from 33 (docs/auto.md). With the Euclidean metric, with distances alone, and
below 20 items, there is the raw view alone; `views="raw"` asks for that, `effort="low"` for raw and w50.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np
from pydantic import Field

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.progress import task
from foldwalk.core.types import AnyArray, Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors.beside import nearest_beside, once
from foldwalk.rerank.automatic.choice import MIDDLE, Choice
from foldwalk.rerank.automatic.group import LARGEST, sizes_for
from foldwalk.rerank.automatic.halves import agreement
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.context.cdm import CDM
from foldwalk.rerank.diffusion.cas import CAS
from foldwalk.rerank.diffusion.cas.asked import Asked
from foldwalk.rerank.expansion.plain import Plain
from foldwalk.rerank.kept import Kept
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params
from foldwalk.rerank.registry import register
from foldwalk.rerank.seen import DEEP, RAW, Seen, fused

LESS_DEEP = 200  # answers that count where groups end within sight
FEWEST_TO_WHITEN = 20
NEAR, CONTEXT = 10, 150  # nearest that make up a neighbourhood of CDM, and that it ranks
STEPS = 12  # nearest that a path goes on to; of 25, 15 and 10, the fewer ranked as well and were quicker
MANY = 5_000  # items from which on one search serves all views
BLOCK = 2048


class AutoParams(Params):
    views: str = Field("raw,w25,w50", description="views that are fused; raw alone where there is no other")
    effort: Literal["high", "low"] = Field("high", description="low: two views, raw and w50, of the three")


@register
class Auto(Reranker):
    name = "auto"
    family = "automatic"
    paper = "none: CAS (Luo et al. 2024) and CDM (Jegou et al. 2007) in several views, fused"
    summary = "ranks by what holds in several views of the vectors; sees the size of groups by itself"
    Parameters = AutoParams
    takes_distances = True
    sees_views = True

    def can_take(self, neighbors: Neighbors, n: int) -> bool:
        """Whether they are enough for the sizes that they themselves lead to."""
        if not super().can_take(neighbors, n):
            return False
        known = neighbors.first(min(LARGEST, neighbors.k))
        choice = Choice.of(known, n, self._views(n), {})
        return choice.parts == "C" or self._walk(choice, paths=True).can_take(known, n)

    def _wanted(self, _: int) -> int:
        """Any number tells something of the groups; what CAS needs is another matter."""
        return 0

    def _prepare(self) -> None:
        self._see(None)

    def _restore(self, kept: Kept) -> None:
        self._see(kept)

    def state(self, whole: bool = True) -> dict[str, AnyArray]:
        _ = self.vectors  # refuses where there is none
        return self.seen.state(whole) | {"delta": self.delta, "agreement": self.agreement}

    def views_wanted(self, n: int) -> tuple[str, ...]:
        return tuple(name for name in self._views(n) if name != RAW)

    def _see(self, kept: Kept | None) -> None:
        known = self.neighbors(self.as_many_as_given(LARGEST))
        wanted = self._views(self.candidates)
        judged = tuple(dict.fromkeys((RAW, MIDDLE, *wanted)))
        if kept is not None:
            self.agreement = kept.numbers("agreement", len(judged), low=-1, high=1)
        elif self._can_whiten(self.candidates):
            self.agreement = agreement(self.vectors.values[: self.candidates], judged)
        else:
            self.agreement = np.full(len(judged), -1, np.float32)
        shares = dict(zip(judged, self.agreement.tolist(), strict=True))
        self.choice = choice = Choice.of(known, self.candidates, wanted, shares)
        self._note = str(choice)
        place = self.vectors, self.candidates, known if known.k else None, self.pairs
        self.seen = Seen(self.known_views, choice.used, between=MIDDLE)

        def create(name: str) -> Reranker:
            ways = [paths for view, paths in choice.members if view == name]
            return self._walk(choice, any(ways)) if ways else self._plain()

        if kept is None:
            self.seen.fit(create, choice.used, *place)
            self.delta = self._delta()
        else:
            self.seen.restore(create, choice.used, kept, *place)
            self.delta = kept.numbers("delta", len(self.vectors), low=0)

    def _can_whiten(self, candidates: int) -> bool:
        return self.pairs is None and self.metric == "cosine" and candidates >= FEWEST_TO_WHITEN

    def _views(self, candidates: int) -> tuple[str, ...]:
        names = tuple(self.params.views.split(","))
        if not self._can_whiten(candidates):
            return (RAW,)
        return tuple(name for name in names if name != MIDDLE) if self.params.effort == "low" else names

    def _walk(self, choice: Choice, paths: bool) -> CAS:
        common = {"seed": self.seed, "metric": self.params.metric, "search": self.params.search}
        return CAS(geodesic=paths, geodesic_k=STEPS, **common, **sizes_for(choice.group_size))

    def _plain(self) -> Plain:
        return Plain(seed=self.seed, metric=self.params.metric, search=self.params.search)

    def _delta(self) -> Float32Array:
        """The scales of CDM, in its view."""
        here = self.seen.methods[self.choice.near]
        k = min(NEAR, len(self.vectors) - 1)
        neighbors = here.neighbors(k) if k else None
        common = {"metric": self.params.metric, "search": self.params.search, "k": NEAR}
        contextual = CDM(seed=self.seed, **common).adopt(
            here.vectors, candidates=self.candidates, neighbors=neighbors, pairs=self.pairs
        )
        return contextual.delta

    @property
    def note(self) -> str:
        return self._note

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        return self._by_blocks(len(queries), partial(self._some_new, queries), top)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        return self._by_blocks(len(rows), partial(self._some_rows, rows), top)

    def _by_blocks(self, count: int, answer: Callable[[slice, int], Reached], top: int) -> Reached:
        found = []
        with task("fusing views", count) as advance:
            for first in range(0, count, BLOCK):
                found.append(answer(slice(first, first + BLOCK), top))
                advance(min(BLOCK, count - first))
        return Reached.join(found)

    def _some_new(self, queries: Vectors, part: slice, top: int) -> Reached:
        """One search, from which everything begins; of many items the other views begin where it ends."""
        asked: dict[str, Asked] = {}
        first, context = None, None
        for name, method, seen in self.seen.queries(Vectors(queries.values[part])):
            wanted = max(CONTEXT, method.looks_at if isinstance(method, CAS) else 0)
            if first is None or len(self.vectors) < MANY:
                near = method.search(seen, wanted)
            else:
                lists = method.known_neighbors or method.neighbors()
                near = nearest_beside(method.vectors, lists, seen, first.ids, wanted)
            first = first or near
            if isinstance(method, CAS):
                asked[name] = method.ask(seen, near)
            if name == self.choice.near:
                context = near.first(min(CONTEXT, near.k))
        assert context is not None  # the view of C is one of them
        return self._fused(asked, context, top)

    def _some_rows(self, rows: IntArray, part: slice, top: int) -> Reached:
        some, methods = rows[part], self.seen.methods
        asked = {name: m.ask_from_rows(some) for name, m in methods.items() if isinstance(m, CAS)}
        return self._fused(asked, methods[self.choice.near].search_rows(some, CONTEXT), top)

    def _fused(self, asked: dict[str, Asked], near: Neighbors, top: int) -> Reached:
        deep = min(DEEP if self.choice.endless else LESS_DEEP, self.candidates)
        answers: dict[tuple[str, bool], Reached] = {}
        for name, paths in self.choice.members:
            if paths:
                answers[name, paths] = self._method(name).along_paths(asked[name], deep)
        # Directly, nobody is looked at who is neither near nor among the first along paths in any view.
        first = deep if self.choice.endless else deep // 2
        items = once([listed[:, :first] for listed in (near.ids, *(r.ids for r in answers.values()))])
        for name, paths in self.choice.members:
            if not paths:
                answers[name, paths] = self._method(name).among(asked[name], items, deep)
        lists = [answers[member] for member in self.choice.members]
        return fused([*lists, self._contextual(near)], self.choice.weights, self.candidates, top)

    def _method(self, name: str) -> CAS:
        method = self.seen.methods[name]
        assert isinstance(method, CAS)  # by `create` of `_see`
        return method

    def _contextual(self, near: Neighbors) -> Reached:
        """CDM among the nearest by similarity alone: d(q, i) delta(i)."""
        apart = np.sqrt(near.squared_distances())
        scores = (1 / (1 + apart * self.delta[near.ids])).astype(np.float32)
        reached = near.ids >= 0
        if near.metric == "cosine":  # at a right angle there is nothing in common
            reached &= near.similarities > 0
        scores[~reached] = -1
        order = np.argsort(-scores, axis=1, kind="stable")
        ids = np.take_along_axis(np.where(reached, near.ids, np.int32(-1)), order, axis=1)
        return Reached(ids, np.take_along_axis(scores, order, axis=1))

    def _plain_new(self, queries: Vectors, top: int) -> Neighbors:
        return self.seen.nearest(queries, top, self.choice.near)

    def _plain_rows(self, rows: IntArray, top: int) -> Neighbors:
        return self.seen.methods[self.choice.near].search_rows(rows, top)
