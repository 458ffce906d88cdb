"""Re-identification: the same person or animal, seen by another camera.

Zheng et al., "Scalable Person Re-identification: A Benchmark", ICCV 2015 (Market-1501); mINP: Ye et al.,
"Deep Learning for Person Re-identification: A Survey and Outlook", TPAMI 2021.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foldwalk.core.errors import BadInput
from foldwalk.core.labels import check_labels, occurrences, shared_codes
from foldwalk.core.types import Float64Array, IntArray
from foldwalk.evaluate.judgement import Hits, Judgement
from foldwalk.evaluate.metrics import average_precision, inverse_negative_penalty, recall_at
from foldwalk.evaluate.protocols.base import BlockwiseProtocol

CMC_AT = (1, 5, 10)
JUNK, DISTRACTOR = -1, 0


class ReID(BlockwiseProtocol):
    """mAP (AP by rectangles), mINP, CMC@1, CMC@5, CMC@10.

    Relevant: the query's identity under another camera. Ignored: the query's identity under the query's own
    camera, and gallery items of identity -1 (junk detections). Identity 0 is a distractor, never relevant.
    Queries without a relevant item are left out of the means.
    """

    name = "ReID"

    def __init__(
        self,
        query_ids: npt.ArrayLike,
        query_cameras: npt.ArrayLike,
        gallery_ids: npt.ArrayLike,
        gallery_cameras: npt.ArrayLike,
    ) -> None:
        queries, gallery = check_labels(query_ids, "query_ids"), check_labels(gallery_ids, "gallery_ids")
        if queries.dtype.kind == "U" or gallery.dtype.kind == "U":
            raise BadInput("the identities of ReID must be whole numbers: -1 means junk and 0 a distractor.")
        seen_query = check_labels(query_cameras, "query_cameras")
        seen_gallery = check_labels(gallery_cameras, "gallery_cameras")
        if len(seen_query) != len(queries) or len(seen_gallery) != len(gallery):
            raise BadInput(
                f"ReID needs one camera per identity: {len(queries)} queries have {len(seen_query)} cameras, "
                f"{len(gallery)} gallery items have {len(seen_gallery)}."
            )
        self.n_queries, self.gallery_size = len(queries), len(gallery)
        self._junk = gallery == JUNK
        self._query_ids, gallery_codes = shared_codes(queries, gallery, "identities")
        self._gallery_ids = np.where(self._junk | (gallery == DISTRACTOR), np.int32(-1), gallery_codes)
        self._query_cameras, self._gallery_cameras = shared_codes(seen_query, seen_gallery, "cameras")
        self._positives = self._count_positives()

    def _count_positives(self) -> IntArray:
        """Gallery items of the query's identity, less those that its own camera took."""
        cameras = 1 + max(int(self._query_cameras.max()), int(self._gallery_cameras.max()))
        real = self._gallery_ids >= 0
        sightings = shared_codes(
            self._query_ids.astype(np.int64) * cameras + self._query_cameras,
            self._gallery_ids[real].astype(np.int64) * cameras + self._gallery_cameras[real],
            "sightings",
        )
        return occurrences(self._query_ids, self._gallery_ids) - occurrences(*sightings)

    def _judge_rows(self, ids: IntArray, rows: slice) -> Judgement:
        same_id = self._gallery_ids[ids] == self._query_ids[rows, None]
        same_camera = self._gallery_cameras[ids] == self._query_cameras[rows, None]
        return Judgement(
            same_id & ~same_camera, (same_id & same_camera) | self._junk[ids], self._positives[rows]
        )

    def _figures(self, hits: Hits) -> dict[str, Float64Array]:
        return {
            "mAP": average_precision(hits),
            "mINP": inverse_negative_penalty(hits),
            **{f"CMC@{k}": recall_at(hits, k) for k in CMC_AT},
        }
