"""Ground truth by class labels: what has the query's label is relevant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from foldwalk.core.errors import BadInput
from foldwalk.core.labels import check_labels, occurrences, shared_codes
from foldwalk.core.types import Float64Array, Int32Array, IntArray
from foldwalk.evaluate.judgement import Hits, Judgement
from foldwalk.evaluate.metrics import (
    average_precision,
    average_precision_at_r,
    average_precision_with_query,
    bullseye,
    r_precision,
    recall_at,
)
from foldwalk.evaluate.protocols.base import BlockwiseProtocol

RECALL_AT = (1, 2, 4, 8)


class LeaveOneOut(BlockwiseProtocol):
    """Every gallery item is a query for the rest of its class; row q of the ranking answers item q.

    An item among its own answers is ignored. Items alone in their class are left out of the means. Figures:
    mAP (AP by rectangles), R@1, R@2, R@4, R@8 (or at the ranks of `recall_at`), MAP@R, R-precision; with
    ``bullseye=K`` the share of the class among the first K: "bullseye@K" with the query left out,
    "bullseye@K+query" with it as the first of the K; with `query_counted` "mAP+query", as if the query had
    been found first.

    >>> from foldwalk.core import Ranking
    >>> answers = Ranking([[1, 2], [2, 0], [0, 1]], [[0.9, 0.1]] * 3)
    >>> LeaveOneOut(["cat", "cat", "dog"]).evaluate(answers)["mAP"]
    0.75
    """

    name = "leave-one-out"

    def __init__(
        self,
        labels: npt.ArrayLike,
        bullseye: int | None = None,
        *,
        recall_at: Sequence[int] = RECALL_AT,
        query_counted: bool = False,
    ) -> None:
        checked = check_labels(labels, "labels")
        if bullseye is not None and bullseye < 1:
            raise BadInput(f"bullseye must be at least 1, but it is {bullseye}.")
        self.bullseye, self.query_counted = bullseye, query_counted
        self.recall_at = _check_ranks(recall_at)
        self.n_queries = self.gallery_size = len(checked)
        self._codes = np.unique(checked, return_inverse=True)[1].astype(np.int32)
        self._positives = occurrences(self._codes, self._codes) - 1

    def _judge_rows(self, ids: IntArray, rows: slice) -> Judgement:
        itself = ids == np.arange(rows.start, rows.stop)[:, None]
        return Judgement(_same(self._codes[rows], self._codes, ids) & ~itself, itself, self._positives[rows])

    def _figures(self, hits: Hits) -> dict[str, Float64Array]:
        figures = _retrieval_figures(hits, self.recall_at, trapezoid=False)
        if self.query_counted:
            figures["mAP+query"] = average_precision_with_query(hits)
        if self.bullseye is not None:
            key = f"bullseye@{self.bullseye}"
            figures[key] = bullseye(hits, self.bullseye)
            figures[f"{key}+query"] = bullseye(hits, self.bullseye, query_counted=True)
        return figures


class QueryGallery(BlockwiseProtocol):
    """Queries that are not part of the gallery; the label -1 (or "-1") in the gallery marks a distractor.

    A distractor is never relevant. Queries without a relevant item are left out of the means. Figures: mAP
    (AP by rectangles, or by trapezoids if asked for), R@1, R@2, R@4, R@8 (or at the ranks of `recall_at`),
    MAP@R, R-precision.
    """

    name = "query-gallery"

    def __init__(
        self,
        query_labels: npt.ArrayLike,
        gallery_labels: npt.ArrayLike,
        trapezoid: bool = False,
        *,
        recall_at: Sequence[int] = RECALL_AT,
    ) -> None:
        queries = check_labels(query_labels, "query_labels")
        gallery = check_labels(gallery_labels, "gallery_labels")
        self.trapezoid, self.recall_at = trapezoid, _check_ranks(recall_at)
        self.n_queries, self.gallery_size = len(queries), len(gallery)
        self._query_codes, gallery_codes = shared_codes(queries, gallery, "labels")
        distractor = gallery == ("-1" if gallery.dtype.kind == "U" else -1)
        self._gallery_codes = np.where(distractor, np.int32(-1), gallery_codes)
        self._positives = occurrences(self._query_codes, self._gallery_codes)

    def _judge_rows(self, ids: IntArray, rows: slice) -> Judgement:
        relevant = _same(self._query_codes[rows], self._gallery_codes, ids)
        return Judgement(relevant, np.zeros_like(relevant), self._positives[rows])

    def _figures(self, hits: Hits) -> dict[str, Float64Array]:
        return _retrieval_figures(hits, self.recall_at, self.trapezoid)


def _same(query_codes: Int32Array, gallery_codes: Int32Array, ids: IntArray) -> npt.NDArray[np.bool_]:
    return np.asarray(gallery_codes[ids] == query_codes[:, None])


def _check_ranks(ranks: Sequence[int]) -> tuple[int, ...]:
    if not len(ranks) or any(not isinstance(k, int | np.integer) or k < 1 for k in ranks):
        raise BadInput(f"recall_at must be a list of whole numbers from 1 on, but it is {ranks!r}.")
    return tuple(int(k) for k in ranks)


def _retrieval_figures(hits: Hits, ranks: tuple[int, ...], trapezoid: bool) -> dict[str, Float64Array]:
    return {
        "mAP": average_precision(hits, trapezoid),
        **{f"R@{k}": recall_at(hits, k) for k in ranks},
        "MAP@R": average_precision_at_r(hits),
        "R-precision": r_precision(hits),
    }
