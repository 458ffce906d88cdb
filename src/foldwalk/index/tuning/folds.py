"""Groups that are held out together, and how sure a mean over them is."""

from __future__ import annotations

import numpy as np

from foldwalk.core.types import Float64Array, IntArray

MOST_FOLDS = 5


def dealt(order: IntArray, folds: int) -> IntArray:
    """The fold of each group, dealt like cards in this order: neighbours in it are in different folds."""
    fold = np.empty(len(order), np.int64)
    fold[order] = np.arange(len(order)) % folds
    return fold


def mean(values: Float64Array) -> float:
    """Of what is known of them."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def standard_error(values: Float64Array, groups: IntArray) -> float:
    """Of their mean, where only different groups are independent of each other.

    With r the sums over the groups of what deviates from the mean, C groups and N values:

        C / (C - 1) sum r^2  /  N^2,  under a root
    """
    known = ~np.isnan(values)
    if len(np.unique(groups[known])) < 2:
        return float("nan")
    places = np.unique(groups[known], return_inverse=True)[1]
    sums = np.bincount(places, values[known] - values[known].mean())
    return float(np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum()) / known.sum())
