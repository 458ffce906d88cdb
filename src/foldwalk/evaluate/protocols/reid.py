"""Re-identification: the same person or animal, seen by another camera.

Zheng et al., "Scalable Person Re-identification: A Benchmark", ICCV 2015 (Market-1501); mINP: Ye et al.,
"Deep Learning for Person Re-identification: A Survey and Outlook", TPAMI 2021.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from foldwalk.core.errors import BadInput
from foldwalk.core.labels import check_labels, occurrences, shared_codes
from foldwalk.core.types import Float64Array, IntArray
from foldwalk.evaluate.judgement import Hits, Judgement
from foldwalk.evaluate.metrics import average_precision, inverse_negative_penalty, recall_at
from foldwalk.evaluate.protocols.base import BlockwiseProtocol

CMC_AT = (1, 5, 10)
JUNK = (-1,)


class ReID(BlockwiseProtocol):
    """mAP (AP by rectangles, or by trapezoids if asked for), mINP, CMC@1, CMC@5, CMC@10.

    Relevant: the query's identity under another camera. Ignored: the query's identity under the query's own
    camera, and gallery items whose identity is one of `junk`, by default -1 (junk detections). Gallery items
    whose identity is one of `distractors` are never relevant, but take a rank: in Market-1501 those of
    identity 0; by default there are none, and 0 is an identity like any other. Queries without a relevant
    item are left out of the means.
    """

    name = "ReID"

    def __init__(
        self,
        query_ids: npt.ArrayLike,
        query_cameras: npt.ArrayLike,
        gallery_ids: npt.ArrayLike,
        gallery_cameras: npt.ArrayLike,
        *,
        junk: Sequence[int] = JUNK,
        distractors: Sequence[int] = (),
        trapezoid: bool = False,
    ) -> None:
        queries, gallery = check_labels(query_ids, "query_ids"), check_labels(gallery_ids, "gallery_ids")
        if queries.dtype.kind == "U" or gallery.dtype.kind == "U":
            raise BadInput("the identities of ReID must be whole numbers; number them, say by np.unique.")
        if set(junk) & set(distractors):
            raise BadInput(f"identity {min(set(junk) & set(distractors))} is junk or a distractor, not both.")
        seen_query = check_labels(query_cameras, "query_cameras")
        seen_gallery = check_labels(gallery_cameras, "gallery_cameras")
        if len(seen_query) != len(queries) or len(seen_gallery) != len(gallery):
            raise BadInput(
                f"ReID needs one camera per identity: {len(queries)} queries have {len(seen_query)} cameras, "
                f"{len(gallery)} gallery items have {len(seen_gallery)}."
            )
        self.n_queries, self.gallery_size = len(queries), len(gallery)
        self.trapezoid = trapezoid
        self._junk = np.isin(gallery, list(junk))
        nobody = self._junk | np.isin(gallery, list(distractors))
        self.query_ids, gallery_codes = shared_codes(queries, gallery, "identities")
        self.gallery_ids = np.where(nobody, np.int32(-1), gallery_codes)
        self.query_cameras, self.gallery_cameras = shared_codes(seen_query, seen_gallery, "cameras")
        self._positives = self._count_positives()

    def _count_positives(self) -> IntArray:
        """Gallery items of the query's identity, less those that its own camera took."""
        cameras = 1 + max(int(self.query_cameras.max()), int(self.gallery_cameras.max()))
        real = self.gallery_ids >= 0
        sightings = shared_codes(
            self.query_ids.astype(np.int64) * cameras + self.query_cameras,
            self.gallery_ids[real].astype(np.int64) * cameras + self.gallery_cameras[real],
            "sightings",
        )
        return occurrences(self.query_ids, self.gallery_ids) - occurrences(*sightings)

    def _judge_rows(self, ids: IntArray, rows: slice) -> Judgement:
        same_id = self.gallery_ids[ids] == self.query_ids[rows, None]
        same_camera = self.gallery_cameras[ids] == self.query_cameras[rows, None]
        return Judgement(
            same_id & ~same_camera, (same_id & same_camera) | self._junk[ids], self._positives[rows]
        )

    def _figures(self, hits: Hits) -> dict[str, Float64Array]:
        return {
            "mAP": average_precision(hits, self.trapezoid),
            "mINP": inverse_negative_penalty(hits),
            **{f"CMC@{k}": recall_at(hits, k) for k in CMC_AT},
        }
