"""Ground truth by lists of images: what is relevant and what is junk, query by query.

Philbin et al., "Object retrieval with large vocabularies and fast spatial matching", CVPR 2007 (Oxford; Paris
and Holidays are measured in the same way).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from foldwalk.core.errors import BadInput
from foldwalk.core.types import Float64Array, IntArray
from foldwalk.evaluate.judgement import Hits, Judgement
from foldwalk.evaluate.metrics import average_precision
from foldwalk.evaluate.protocols.base import BlockwiseProtocol

POSITIVE, JUNK = 1, 2


class Oxford(BlockwiseProtocol):
    """mAP with junk: junk is taken out before ranks are counted, AP is taken by trapezoids.

    `positives` ("good" and "ok" together) and `junk` hold one list of gallery ids per query. Queries without
    positives are left out of the mean. Where `gallery_size` is given, ids are checked against it.
    """

    name = "Oxford"

    def __init__(
        self,
        positives: Sequence[npt.ArrayLike],
        junk: Sequence[npt.ArrayLike],
        *,
        gallery_size: int | None = None,
    ) -> None:
        if len(positives) != len(junk) or not len(positives):
            raise BadInput(
                f"positives ({len(positives)}) and junk ({len(junk)}) must hold one list of ids per query, "
                "for at least one query."
            )
        self.n_queries, self.gallery_size = len(positives), gallery_size
        good = [
            check_ids(listed, f"positives of query {q}", gallery_size) for q, listed in enumerate(positives)
        ]
        bad = [check_ids(listed, f"junk of query {q}", gallery_size) for q, listed in enumerate(junk)]
        for q, (relevant, ignored) in enumerate(zip(good, bad, strict=True)):
            both = np.intersect1d(relevant, ignored)
            if len(both):
                raise BadInput(f"query {q}: the id {both[0]} stands in two lists of the ground truth.")
        self._positives = np.array([len(listed) for listed in good], dtype=np.int64)
        self._kinds = _kinds_by_query(good, bad)

    def _cells_per_row(self, top: int) -> int:
        return max(top, int(self._kinds.shape[1]))

    def _judge_rows(self, ids: IntArray, rows: slice) -> Judgement:
        kinds = self._kinds[rows].toarray()
        # The last column stands for every id beyond the largest listed one.
        kinds = np.take_along_axis(kinds, np.minimum(ids, kinds.shape[1] - 1), axis=1)
        return Judgement(kinds == POSITIVE, kinds == JUNK, self._positives[rows])

    def _figures(self, hits: Hits) -> dict[str, Float64Array]:
        return {"mAP": average_precision(hits, trapezoid=True)}


def check_ids(listed: npt.ArrayLike, where: str, gallery_size: int | None) -> IntArray:
    """A list of gallery ids, none of them twice; `where` names it in an error."""
    ids = np.asarray(listed)
    if not ids.size:
        return np.empty(0, dtype=np.int64)
    if ids.ndim != 1 or ids.dtype.kind not in "iu" or ids.min() < 0:
        raise BadInput(f"{where}: a list of ids, whole numbers from 0 on, was expected.")
    if gallery_size is not None and ids.max() >= gallery_size:
        raise BadInput(f"{where}: the id {ids.max()} is outside the gallery of {gallery_size} items.")
    if len(np.unique(ids)) < len(ids):
        raise BadInput(f"{where}: an id is listed twice.")
    return ids.astype(np.int64)


def _kinds_by_query(good: list[IntArray], bad: list[IntArray]) -> sparse.csr_array[Any]:
    """(queries x (largest id + 2)): POSITIVE, JUNK or nothing; nothing at all in the last column."""
    listed = np.concatenate([*good, *bad])
    query = np.repeat(np.tile(np.arange(len(good)), 2), [len(ids) for ids in (*good, *bad)])
    kind = np.repeat(np.array([POSITIVE, JUNK], dtype=np.int8), [sum(map(len, good)), sum(map(len, bad))])
    shape = (len(good), int(listed.max(initial=-1)) + 2)
    return sparse.csr_array((kind, (query, listed)), shape=shape)
