"""INSTRE, in the protocol of Iscen et al.: each query is a part of a picture."""

from __future__ import annotations

from pathlib import Path

from foldwalk.core.types import Float64Array
from foldwalk.core.vector_files import VectorFile
from foldwalk.datasets.ground_truth import GroundTruthSource
from foldwalk.datasets.query_sources import Listing
from foldwalk.evaluate import Oxford


class INSTRE(GroundTruthSource):
    name = "instre"
    title = "INSTRE"
    what = "1,250 queries over 27,293 pictures of 250 things"
    source = "the texmex corpus at IRISA: instre.tar.gz and gnd_instre.mat"
    reference = (
        "Wang, Jiang: INSTRE, ACM TOMM 2015; Iscen et al.: Efficient diffusion on region manifolds, CVPR 2017"
    )
    folders = ("instre", "datasets/instre")
    holds = ("INSTRE-S1",)

    def listing(self, root: Path | None, file: VectorFile | None) -> Listing:  # noqa: ARG002
        truth = self.truth(root, ["ok"])
        protocol = Oxford([entry["ok"] for entry in truth.entries], [[] for _ in truth.entries])
        return Listing(truth.gallery, truth.queries, protocol, self.folder(root), _corners(truth.boxes))


def _corners(boxes: Float64Array | None) -> Float64Array | None:
    """Boxes as left, upper, right, lower.

    Readers of the published file disagree whether its last two numbers are the lower right corner or width
    and height. Only a corner lies right of and below the upper left one for every query.
    """
    if boxes is None or (boxes[:, 2:] > boxes[:, :2]).all():
        return boxes
    corners = boxes.copy()
    corners[:, 2:] += corners[:, :2]
    return corners


SOURCES = (INSTRE(),)
