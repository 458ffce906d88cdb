"""The figures of merit, one small function each.

Those of rankings take the hits of q queries and give q numbers: NaN for a query that has no positive, which
a mean has to leave out. With r_1 < r_2 < ... the ranks of the positives found and P the number of positives
in the gallery, the precision at the j-th of them is j / r_j. A ranking may be cut short; what it does not
return counts as never found, and P stays in the denominator.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import pair_confusion_matrix

from foldwalk.core.types import BoolArray, Float64Array, IntArray
from foldwalk.evaluate.judgement import Hits


def average_precision(hits: Hits, trapezoid: bool = False) -> Float64Array:
    """AP = 1/P sum_j j / r_j, the area under the precision-recall curve by rectangles.

    By trapezoids, each precision is averaged with the one just before the hit, (j - 1) / (r_j - 1), or 1
    where r_j = 1: so do the programs of Oxford (Philbin et al. 2007) and of its revision (Radenovic et al.
    2018).
    """
    precision = hits.order / hits.rank
    if trapezoid:
        before = np.where(hits.rank == 1, 1.0, (hits.order - 1) / np.maximum(hits.rank - 1, 1))
        precision = (precision + before) / 2
    return _ratio(hits, hits.total(precision), hits.positives)


def average_precision_with_query(hits: Hits) -> Float64Array:
    """AP by rectangles as if the query, which the hits leave out, had been found first.

    One place and one right answer more: (1 + sum_j (j + 1) / (r_j + 1)) / (P + 1).
    """
    fellows = hits.total((hits.order + 1) / (hits.rank + 1))
    return _ratio(hits, 1 + fellows, hits.positives + 1)


def r_precision(hits: Hits) -> Float64Array:
    """Positives among the first P, over P."""
    return _ratio(hits, hits.total(hits.rank <= hits.positives[hits.query]), hits.positives)


def average_precision_at_r(hits: Hits) -> Float64Array:
    """AP of the first P answers only, 1/P sum_{r_j <= P} j / r_j: MAP@R (Musgrave et al. 2020)."""
    within = hits.rank <= hits.positives[hits.query]
    return _ratio(hits, hits.total(within * hits.order / hits.rank), hits.positives)


def recall_at(hits: Hits, k: int) -> Float64Array:
    """1 if a positive is among the first k, else 0: Recall@k, in re-identification CMC@k."""
    return _ratio(hits, hits.total((hits.order == 1) & (hits.rank <= k)), 1)


def precision_at(hits: Hits, k: int) -> Float64Array:
    """Positives among the first k', over k' = min(k, rank of the last positive), as in Radenovic et al. 2018.

    A query with fewer than k positives can so reach 1. If the ranking misses a positive, k' is k.
    """
    depth = np.minimum(hits.last_rank(), k)
    return _ratio(hits, hits.total(hits.rank <= depth[hits.query]), depth)


def inverse_negative_penalty(hits: Hits) -> Float64Array:
    """INP = P / rank of the last positive (Ye et al. 2021); 0 if the ranking misses one."""
    return _ratio(hits, hits.positives, hits.last_rank())


def bullseye(hits: Hits, k: int, query_counted: bool = False) -> Float64Array:
    """Members of the query's class among the first k, over the size of the class, query included: P + 1.

    Hits hold the query's fellows only. With `query_counted` the query takes the first of the k places, as if
    it had been found: 1 + fellows among the first k - 1.
    """
    fellows = hits.total(hits.rank <= (k - 1 if query_counted else k))
    return _ratio(hits, fellows + query_counted, hits.positives + 1)


def cluster_nmi(clusters: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Normalised mutual information, 2 I(clusters; labels) / (H(clusters) + H(labels))."""
    return float(normalized_mutual_info_score(labels, clusters))


def cluster_pair_f1(clusters: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """F1 over pairs of items: a pair is predicted if in one cluster, and right if in one class.

    Counted on the contingency table of clusters and classes, so no pair is ever looked at. If there is no
    pair to predict and none was predicted, the clustering is right: 1.
    """
    (_, wrong), (missed, right) = pair_confusion_matrix(labels, clusters).tolist()
    return 2 * right / (2 * right + wrong + missed) if right + wrong + missed else 1.0


def _ratio(
    hits: Hits, numerator: Float64Array | IntArray, denominator: Float64Array | IntArray | int
) -> Float64Array:
    has_positives: BoolArray = hits.positives > 0
    ratios = np.full(len(has_positives), np.nan)
    np.divide(numerator, denominator, out=ratios, where=has_positives)
    return ratios
