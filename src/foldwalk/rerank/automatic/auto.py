"""A method and its neighbourhood sizes, chosen for the gallery at hand without labels.

The neighbourhood size decides more than the method, and no size suits all collections. What a collection
itself tells is how far its items agree on who belongs together. Of the k nearest of an item, some have the
item among their own k nearest; the share of these over all items is the mutuality m(k). Within a group
everybody is near everybody, so m holds or rises with k up to the size of the groups; beyond it, lists reach
into other groups at will, and m falls. The group size is taken to be

    g  =  the largest k up to 60 with  m(k) >= (1 - tolerance) max over k of m(k),      tolerance = 1/20

and the neighbourhoods of the method follow it:

    g < 2            plain search: not even two items can be relied on
    g < 4            `k_reciprocal` with k1 = g: groups are smaller than the core of four that CAS trusts
    g < 60           `cas` with cluster_k = g; its other sizes lie on the line through the two settings that
                     its authors publish (cluster_k 20 and 60), and shrink in proportion below 20
    otherwise        `cas` as its authors set it: no group ends within sight

After `fit`, `choice` says what was chosen and why.

The rule sees how items hang together, not what somebody means by "the same": where a collection hangs
together by something else than what is asked for, a walk can lose against plain search, and no rule without
labels can know. What was chosen on real sets, and what would have been best, is in docs/auto.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import Field

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, Float64Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.graph import mutuality
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.kept import Kept
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params, neighborhood
from foldwalk.rerank.registry import create, register

# Others in the core that CAS trusts by default, and neighbours that its largest setting looks at.
CORE = 4
WIDEST = 70


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen and why: `mutuality` holds m(1), m(2), ..."""

    method: str
    parameters: dict[str, Any]
    group_size: int
    mutuality: Float64Array
    reason: str

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"{self.method}({sizes}): {self.reason}"


class AutoParams(Params):
    tolerance: float = Field(0.05, ge=0, lt=1, description="share of the peak that mutuality may lose")
    largest: int = neighborhood(60, "largest group size that is looked for", high=1000)


@register
class Auto(Reranker):
    name = "auto"
    family = "automatic"
    paper = "none: chosen among the other methods by how mutual the gallery's neighbours are"
    summary = "chooses a method and its neighbourhood sizes for the gallery, without labels, and says why"
    Parameters = AutoParams
    takes_distances = True

    def can_take(self, neighbors: Neighbors, n: int) -> bool:
        """Whether they are enough for the method that they themselves choose."""
        if not super().can_take(neighbors, n):
            return False
        known = neighbors.first(min(self._looked_at, neighbors.k))
        return self._create(self._choice(known)).can_take(known, n)

    def _wanted(self, _: int) -> int:
        """Any number is enough for a choice; what the chosen method needs is another matter."""
        return 0

    @property
    def _looked_at(self) -> int:
        return int(max(WIDEST, self.params.largest))

    def _prepare(self) -> None:
        self._choose(None)

    def _choose(self, state: dict[str, AnyArray] | None) -> None:
        known = self.neighbors(self.as_many_as_given(self._looked_at))
        self.choice = self._choice(known)
        self.chosen = self._create(self.choice).adopt(
            self.vectors,
            candidates=self.candidates,
            neighbors=known if known.k else None,
            state=state,
            pairs=self.pairs,
        )

    def _choice(self, known: Neighbors) -> Choice:
        return choose(mutuality(known.first(min(self.params.largest, known.k))), self.params.tolerance)

    def _create(self, choice: Choice) -> Reranker:
        common = {name: getattr(self.params, name) for name in Params.model_fields}
        return create(choice.method, seed=self.seed, **choice.parameters, **common)

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        return self.chosen.reached_from(queries, top)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        return self.chosen.reached_from_rows(rows, top)

    def _state(self) -> dict[str, AnyArray]:
        return self.chosen.state()

    def _restore(self, kept: Kept) -> None:
        self._choose(kept.handed_on())


def choose(curve: Float64Array, tolerance: float) -> Choice:
    """The method for a gallery whose k nearest are mutual with shares `curve`, k = 1, 2, ..."""
    peak = curve.max(initial=0.0)
    good = np.flatnonzero(curve >= (1 - tolerance) * peak)
    group = int(good[-1]) + 1 if peak > 0 and len(good) else 0
    if group < 2:
        return Choice("plain", {}, group, curve, "hardly two items have each other as neighbours")
    if group == len(curve):
        return Choice("cas", {}, group, curve, f"no group ends among the {group} nearest")
    reason = (
        f"groups of about {group} others; of the {group} nearest {curve[group - 1]:.0%} are mutual, "
        f"of {len(curve)} {curve[-1]:.0%}"
    )
    if group < CORE:
        return Choice("k_reciprocal", {"k1": group, "k2": 2}, group, curve, reason)
    return Choice("cas", cas_sizes(group), group, curve, reason)


def cas_sizes(cluster_k: int) -> dict[str, Any]:
    """On the line through the authors' settings for cluster_k = 20 and 60; in proportion below 20."""
    along = min(max(cluster_k - 20, 0) / 40, 1.0)
    part = min(cluster_k / 20, 1.0)
    return {
        "cluster_k": min(cluster_k, 60),
        "trusted_k": round(5 + along),
        "transition_k": round(25 * part + 45 * along),
        "expand_k": round(6 + along),
        "markov_k": round(25 * part + 55 * along),
    }
