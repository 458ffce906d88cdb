"""What tuning found, as a page: candidates with their standard errors, or what is seen without labels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from foldwalk.index.tuning.types import Outlook, Tuned
from foldwalk.report.html import page
from foldwalk.report.rendering import render

MARGIN = 0.01  # of the range that figures are drawn over, from 0 to 1


def tuning_page(place: str, found: Tuned | Outlook, run: Mapping[str, Any]) -> str:
    """The whole document."""
    if isinstance(found, Tuned):
        low, high = _range(found)
        section = render("tuning.html", tuned=found, place=place, low=low, span=high - low)
        introduction = "Candidates on the collection itself, by labels that no graph and no fit has seen."
    else:
        section = render("outlook.html", outlook=found, place=place, points=_points(found))
        introduction = "Without labels: how large the groups are, and how far the views agree."
    return page("tune", "Which method suits the collection", introduction, [section], run)


def _range(tuned: Tuned) -> tuple[float, float]:
    """From the lowest to the highest end of the first figure, so that differences can be seen."""
    rows = [row for row in tuned.candidates if row.failure is None]
    reach = [(row.figures[tuned.first], _known(row.errors[tuned.first])) for row in rows]
    low, high = min(value - error for value, error in reach), max(value + error for value, error in reach)
    return low - MARGIN, high + MARGIN


def _known(error: float) -> float:
    return 0.0 if math.isnan(error) else error


def _points(outlook: Outlook) -> str:
    """The curve of mutuality in a box of 400 x 200."""
    last = max(len(outlook.mutuality) - 1, 1)
    return " ".join(
        f"{40 + 400 * k / last:.1f},{10 + 200 * (1 - max(share, 0.0)):.1f}"
        for k, share in enumerate(outlook.mutuality)
    )
