"""What tuning takes and gives: plain values, each with a dictionary form for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from foldwalk.core.as_dict import AsDict
from foldwalk.index.tuning.preference import full_name


@dataclass(frozen=True)
class Candidate:
    """A method with the parameters that differ from its defaults."""

    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return full_name(self.method, self.parameters)


@dataclass(frozen=True)
class Scored(AsDict):
    """What a candidate reaches: figures from 0 to 1, with their standard errors over the groups.

    `folds` counts those whose choice it was. `failure` says why there are no figures.
    """

    name: str
    method: str
    parameters: dict[str, Any]
    figures: dict[str, float] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    folds: int = 0
    failure: str | None = None


@dataclass(frozen=True)
class Tuned(AsDict):
    """What came of tuning. `labelled` items in `groups`, of which `asked` were queries, judged by the first
    `depth` of each ranking.

    `used` is what searches used before, `winner` what is best on all folds together. `held_out` is the first
    figure of choosing: each fold ranked by what the others choose; `lead` is how far it is above `used`. They
    are NaN where nothing can be held out. `enough` says whether the evidence for another than `used` is.
    """

    by: str
    items: int
    labelled: int
    groups: int
    asked: int
    depth: int
    folds: int
    candidates: tuple[Scored, ...]
    used: str
    winner: str
    held_out: float
    lead: float
    lead_error: float
    enough: bool
    kept: bool
    sentence: str

    @property
    def best(self) -> Scored:
        """The winner's row."""
        return next(row for row in self.candidates if row.name == self.winner)

    @property
    def first(self) -> str:
        """The figure that decides."""
        return next(iter(self.best.figures))

    @property
    def reason(self) -> str:
        """Why the winner is preferred, in short."""
        lead = f"{100 * self.lead:.1f} ± {100 * self.lead_error:.1f} above {self.used}"
        return f"tuned by {self.by}: {self.first} {100 * self.held_out:.1f} held out, {lead}"


@dataclass(frozen=True)
class Outlook(AsDict):
    """What can be seen of a collection without labels.

    `mutuality` holds the share of mutual neighbours beyond chance among the 1, 2, ... nearest. `agreement` is
    the share of the first ten in each view that are among the first ten by the vectors as they are.
    """

    items: int
    group_size: int
    mutuality: tuple[float, ...]
    agreement: dict[str, float]
    sentence: str
