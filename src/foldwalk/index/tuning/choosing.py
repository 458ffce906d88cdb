"""Which candidate is best, how good choosing is on what the choice has not seen, and whether that is enough.

For each fold the best candidate of all other folds is taken, and the fold is judged by it. These held-out
values together are what choosing is worth; the figure of the best candidate on all folds is too good, for it
was chosen by the same labels. What is used so far stays, unless

    there are at least 5 groups and 30 values,
    more than half of the folds choose the winner,
    and the held-out values are above those of what is used by more than twice the standard error.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from foldwalk.core.types import Float64Array, IntArray
from foldwalk.index.tuning.folds import mean, standard_error

FEWEST_GROUPS, FEWEST_VALUES, ERRORS = 5, 30, 2


@dataclass(frozen=True)
class Chosen:
    """The place of the winner among the candidates, and how many folds chose which.

    `held_out`, its `lead` and the standard error of that are NaN where nothing could be held out.
    """

    winner: int
    votes: Counter[int]
    held_out: float
    lead: float
    error: float


def choose(values: Float64Array, groups: IntArray, folds: IntArray, used: int) -> Chosen:
    """`values` are (candidates, units), one row for each candidate; `used` is the place of what is used."""
    winner = _best(values, used)
    if len(np.unique(folds)) < 2:
        return Chosen(winner, Counter(), math.nan, math.nan, math.nan)
    votes = {fold: _best(values[:, folds != fold], used) for fold in np.unique(folds).tolist()}
    held_out = np.array([values[votes[fold], unit] for unit, fold in enumerate(folds.tolist())])
    lead = held_out - values[used]
    return Chosen(winner, Counter(votes.values()), mean(held_out), mean(lead), standard_error(lead, groups))


def _best(values: Float64Array, used: int) -> int:
    """The first of the best; what is used, where nothing is better."""
    means = [mean(row) for row in values]
    best = int(np.argmax(means))
    return used if means[used] >= means[best] else best


def too_few(chosen: Chosen, groups: int, values: int, group: str, item: str) -> str:
    """Why there is not enough to choose by, as part of a sentence; empty where there is."""
    if math.isnan(chosen.lead):
        return f"the {item} are too few, or hang together too much, to hold some of them out"
    if groups < FEWEST_GROUPS:
        return f"there are only {groups} {group}"
    if values < FEWEST_VALUES:
        return f"there are only {values} {item}"
    return ""


def doubt(chosen: Chosen, used: str) -> str:
    """Why the winner cannot be relied on, as part of a sentence; empty where it can."""
    folds = chosen.votes.total()
    if 2 * chosen.votes[chosen.winner] <= folds:
        return f"the folds disagree, {chosen.votes[chosen.winner]} of {folds} choose it"
    if not chosen.lead > ERRORS * chosen.error:
        said = f"{100 * chosen.lead:+.1f} with a standard error of {100 * chosen.error:.1f}"
        return f"on what is held out the lead over {used} is {said}"
    return ""
