"""Which methods are compared: quick ones that need no training, from different families."""

from __future__ import annotations

from collections.abc import Iterable

from foldwalk.index.tuning.preference import check_choice
from foldwalk.index.tuning.types import Candidate

IN_VIEWS = (Candidate("auto", {"effort": "low"}), Candidate("auto", {"views": "raw"}))
USUAL = (
    Candidate("plain"),
    Candidate("auto"),
    *IN_VIEWS,
    *(Candidate(name) for name in ("cas", "k_reciprocal", "cdm", "aqe", "manifold_ranking", "dfs")),
)


def usual(metric: str) -> tuple[Candidate, ...]:
    """Those compared unless others are named; without the cosine there is one view alone."""
    return USUAL if metric == "cosine" else tuple(each for each in USUAL if each not in IN_VIEWS)


def checked(candidates: Iterable[Candidate], used: Candidate, metric: str) -> list[Candidate]:
    """Each once, and among them what is used so far."""
    found: list[Candidate] = []
    for candidate in (*candidates, used):
        check_choice(candidate.method, candidate.parameters, metric)
        if candidate not in found:
            found.append(candidate)
    return found
