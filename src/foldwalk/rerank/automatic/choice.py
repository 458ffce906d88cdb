"""What is made of a collection: the line of the rule that holds for it, and why, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import Float64Array
from foldwalk.rerank.automatic.group import excess_mutuality, group_size
from foldwalk.rerank.seen import RAW

SMALL_GROUPS, FEW_ITEMS = 5, 250
HOLDS = 0.97  # of the raw view's agreement, that a view must reach; less is more than chance between halves
MIDDLE = "w25"
BESIDE = 0.15  # the weight of C beside F


@dataclass(frozen=True, eq=False)
class Choice:
    """`mutuality` holds m'(1), m'(2), ...; `curved` is whether whitening blurs what there is to see."""

    group_size: int
    views: tuple[str, ...]
    left_out: tuple[str, ...]
    curved: bool
    parts: str
    mutuality: Float64Array

    @classmethod
    def of(
        cls, known: Neighbors, items: int, views: tuple[str, ...], agreement: Mapping[str, float]
    ) -> Choice:
        """By the neighbours of the raw view and the agreement of halves, where it is known (not below 0)."""
        least = HOLDS * agreement.get(RAW, 0.0)
        failing = {name for name, share in agreement.items() if 0 <= share < least}
        kept = tuple(name for name in views if name not in failing) or (RAW,)
        excess = excess_mutuality(known)
        group = group_size(excess)
        small = group <= SMALL_GROUPS or items < FEW_ITEMS
        parts = "C" if group < 2 else "W + C" if small else "F + .15 C"
        left_out = tuple(name for name in views if name not in kept)
        return cls(group, kept, left_out, MIDDLE in failing, parts, excess)

    @cached_property
    def members(self) -> tuple[tuple[str, bool], ...]:
        """The views in which CAS is asked, and whether along paths or directly."""
        if self.parts == "C":
            return ()
        if self.parts == "W + C":
            return ((self.views[-1], True),)
        if len(self.views) == 1:
            both = ((self.views[0], True), (self.views[0], False))
            return both[:1] if self.curved else both
        return tuple((name, place % 2 == 0) for place, name in enumerate(self.views))

    @cached_property
    def walked(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name, _ in self.members))

    @cached_property
    def near(self) -> str:
        """The view of C, which also orders what nobody reaches."""
        return MIDDLE if self.parts.startswith("F") and MIDDLE in self.views else self.views[-1]

    @cached_property
    def used(self) -> tuple[str, ...]:
        return tuple(name for name in self.views if name in (*self.walked, self.near))

    @cached_property
    def weights(self) -> list[float]:
        """Of the members, and of C."""
        beside = BESIDE if self.parts.startswith("F") else 1.0
        return [1 / len(self.members) for _ in self.members] + [beside]

    @cached_property
    def endless(self) -> bool:
        """Whether groups may be larger than can be seen."""
        return 1 < self.group_size == len(self.mutuality)

    @property
    def sure(self) -> float:
        return float(np.max(self.mutuality, initial=0.0))

    def __str__(self) -> str:
        groups = {0: "no groups to be seen", 1: "pairs at most"}.get(
            self.group_size, f"groups of about {self.group_size + 1}"
        )
        if self.endless:
            groups = f"no group ends among the {self.group_size} nearest"
        how = {"C": "only the nearest are compared", "W + C": "the walk and the nearest count alike"}
        said = how.get(self.parts, "the walk counts, the nearest a little")
        eyes = f"{len(self.used)} views" if len(self.used) > 1 else f"the {self.used[0]} view alone"
        why = f", for {' and '.join(self.left_out)} would blur them" if self.left_out else ""
        return (
            f"{groups} ({self.sure:.0%} of neighbours are mutual beyond chance), so {said}, in {eyes}{why}."
        )
