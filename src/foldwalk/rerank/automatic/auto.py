"""Several views of the vectors, one ranking: what holds in all of them comes first. No labels, no settings.

No rule without labels selects a method as well as a good fusion ranks. So nothing is selected here. The
vectors are seen in three views (as they are; w25 and w50: square roots along the principal axes, frequent
directions scaled down a little and more), the size g of the groups is read off the graph (group.py), and in
each view CAS with the sizes of g answers twice, along paths and directly. Beside it stands the contextual
dissimilarity (CDM), which looks no further than the nearest and so does not go astray. With z the scores of
a query's first 400 brought to the range from 0 to 1,

    F = mean of the six z of CAS,   W = mean of the two in w50,   C = z of CDM in w50
    score  =  C              where g < 2: not even two items can be relied on
              W + C          where g <= 5, or there are fewer than 250 items
              F + .15 C      otherwise

and what nobody reaches follows by similarity in w25. Numbers and switch come from a study on fourteen
collections (docs/auto.md). With the Euclidean metric, with distances alone, and below 20 items, there is the
raw view alone; `views="raw"` asks for that, `effort="low"` for raw and w50.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, Float32Array, Float64Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.rerank.automatic.group import LARGEST, excess_mutuality, group_size, sizes_for
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.context.cdm import CDM
from foldwalk.rerank.diffusion.cas import CAS
from foldwalk.rerank.expansion.plain import Plain
from foldwalk.rerank.kept import Kept
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params
from foldwalk.rerank.registry import register
from foldwalk.rerank.seen import DEEP, RAW, Seen, fused

WIDEST = 70  # neighbours that the largest setting of CAS looks at
SMALL_GROUPS, FEW_ITEMS, FEWEST_TO_WHITEN = 5, 250, 20
NEAR = 10  # nearest that make up a neighbourhood of CDM
BESIDE = 0.15  # the weight of C beside F


@dataclass(frozen=True, eq=False)
class Choice:
    """What was made of a gallery and why; `mutuality` holds m'(1), m'(2), ..., `sure` is its peak."""

    group_size: int
    views: tuple[str, ...]
    parts: str
    mutuality: Float64Array

    @classmethod
    def of(cls, known: Neighbors, candidates: int, views: tuple[str, ...]) -> Choice:
        """By the neighbours of the raw view; `parts` is the line of the rule that holds."""
        excess = excess_mutuality(known)
        group = group_size(excess)
        small = group <= SMALL_GROUPS or candidates < FEW_ITEMS
        return cls(group, views, "C" if group < 2 else "W + C" if small else "F + .15 C", excess)

    @property
    def last(self) -> str:
        """The view of W and C."""
        return self.views[-1]

    @property
    def walked(self) -> tuple[str, ...]:
        """The views in which the walk is asked."""
        return {"C": (), "W + C": (self.last,)}.get(self.parts, self.views)

    @property
    def sure(self) -> float:
        return float(self.mutuality.max(initial=0.0))

    def __str__(self) -> str:
        groups = {0: "no groups to be seen", 1: "pairs at most"}.get(
            self.group_size, f"groups of about {self.group_size + 1}"
        )
        if self.group_size >= LARGEST:
            groups = f"no group ends among the {LARGEST} nearest"
        how = {"C": "only the nearest are compared", "W + C": "the walk and the nearest count alike"}
        said = how.get(self.parts, "the walk counts, the nearest a little")
        eyes = f"{len(self.views)} views" if len(self.views) > 1 else f"the {self.last} view alone"
        return f"{groups} ({self.sure:.0%} of neighbours are mutual beyond chance), so {said}, in {eyes}."


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
        known = neighbors.first(min(WIDEST, neighbors.k))
        choice = Choice.of(known, n, self._views(n))
        return RAW not in choice.walked or self._walk(choice).can_take(known, n)

    def _wanted(self, _: int) -> int:
        """Any number tells something of the groups; what CAS needs is another matter."""
        return 0

    def _prepare(self) -> None:
        self._see(None)

    def _restore(self, kept: Kept) -> None:
        self._see(kept)

    def state(self, whole: bool = True) -> dict[str, AnyArray]:
        _ = self.vectors  # refuses where there is none
        return self.seen.state(whole) | {"delta": self.delta}

    def views_wanted(self, n: int) -> tuple[str, ...]:
        return tuple(name for name in self._views(n) if name != RAW)

    def _see(self, kept: Kept | None) -> None:
        known = self.neighbors(self.as_many_as_given(WIDEST))
        self.choice = choice = Choice.of(known, self.candidates, self._views(self.candidates))
        place = self.vectors, self.candidates, known if known.k else None, self.pairs
        self.seen = Seen(self.known_views, {*choice.walked, choice.last})

        def create(name: str) -> Reranker:
            return self._walk(choice) if name in choice.walked else self._plain()

        if kept is None:
            self.seen.fit(create, choice.views, *place)
            self.delta = self._delta()
        else:
            self.seen.restore(create, choice.views, kept, *place)
            self.delta = kept.numbers("delta", len(self.vectors), low=0)

    def _views(self, candidates: int) -> tuple[str, ...]:
        names = tuple(self.params.views.split(","))
        if self.pairs is not None or self.metric != "cosine" or candidates < FEWEST_TO_WHITEN:
            return (RAW,)
        return tuple(name for name in names if name != "w25") if self.params.effort == "low" else names

    def _walk(self, choice: Choice) -> CAS:
        p = self.params
        return CAS(seed=self.seed, metric=p.metric, search=p.search, **sizes_for(choice.group_size))

    def _plain(self) -> Plain:
        return Plain(seed=self.seed, metric=self.params.metric, search=self.params.search)

    def _delta(self) -> Float32Array:
        """The scales of CDM, in the last view."""
        last = self.seen.methods[self.choice.last]
        k = min(NEAR, len(self.vectors) - 1)
        neighbors = last.neighbors(k) if k else None
        common = {"metric": self.params.metric, "search": self.params.search, "k": NEAR}
        contextual = CDM(seed=self.seed, **common).adopt(
            last.vectors, candidates=self.candidates, neighbors=neighbors, pairs=self.pairs
        )
        return contextual.delta

    @property
    def note(self) -> str:
        return str(self.choice)

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        answers: list[Reached] = []
        for method, seen in self.seen.queries(queries):
            if isinstance(method, CAS):
                answers += method.both_from(seen, self._deep)
        return self._fused(answers, self.seen.nearest(queries, self._deep, self.choice.last), top)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        answers: list[Reached] = []
        for method in self.seen.methods.values():
            if isinstance(method, CAS):
                answers += method.both_from_rows(rows, self._deep)
        return self._fused(answers, self.seen.methods[self.choice.last].search_rows(rows, self._deep), top)

    @property
    def _deep(self) -> int:
        return min(DEEP, self.candidates)

    def _fused(self, answers: list[Reached], near: Neighbors, top: int) -> Reached:
        weights = [1 / len(answers) for _ in answers]
        beside = BESIDE if self.choice.parts.startswith("F") else 1.0
        return fused([*answers, self._contextual(near)], [*weights, beside], self.candidates, top)

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
        return self.seen.nearest(queries, top, self._rest)

    def _plain_rows(self, rows: IntArray, top: int) -> Neighbors:
        return self.seen.methods[self._rest].search_rows(rows, top)

    @property
    def _rest(self) -> str:
        """The view that orders what nobody reaches."""
        return "w25" if "w25" in self.choice.views else self.choice.last
