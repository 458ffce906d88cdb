"""Precision as recall grows, averaged over queries."""

from __future__ import annotations

import numpy as np

from foldwalk.core.types import Float64Array
from foldwalk.evaluate import Judgement


def interpolated_precision(judgement: Judgement, points: int = 101) -> Float64Array:
    """Precision at `points` evenly spaced recalls from 0 to 1, averaged over queries that have positives.

    Interpolated precision at recall r is the highest precision at any recall >= r (Manning, Raghavan and
    Schütze, Introduction to Information Retrieval, section 8.4). Ignored items are taken out before ranks are
    counted; recall that the ranking does not reach has precision 0.
    """
    recalls = np.linspace(0, 1, points)
    total = np.zeros(points)
    answerable = np.flatnonzero(judgement.positives > 0)
    for query in answerable:
        kept = judgement.relevant[query][~judgement.ignored[query]]
        ranks_of_hits = np.flatnonzero(kept) + 1
        precision = np.arange(1, len(ranks_of_hits) + 1) / ranks_of_hits
        highest_from_here = np.maximum.accumulate(precision[::-1])[::-1]
        # The hit at which each recall is reached; the small number absorbs 0.07 * 100 = 7.000000000000001.
        hits = np.maximum(np.ceil(recalls * judgement.positives[query] - 1e-9).astype(np.int64), 1)
        reached = hits <= len(ranks_of_hits)
        total[reached] += highest_from_here[hits[reached] - 1]
    return total / max(len(answerable), 1)
