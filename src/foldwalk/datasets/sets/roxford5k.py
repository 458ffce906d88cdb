"""Revisited Oxford and Paris, alone or among the million distractors of the same benchmark."""

from __future__ import annotations

from pathlib import Path

from foldwalk.core.vector_files import VectorFile
from foldwalk.datasets.ground_truth import GroundTruthSource
from foldwalk.datasets.query_sources import Listing, QuerySource, WithDistractors
from foldwalk.evaluate import Revisited

REFERENCE = (
    "Radenovic et al.: Revisiting Oxford and Paris: large-scale image retrieval benchmarking, CVPR 2018"
)


class ROxford5k(GroundTruthSource):
    name = "roxford5k"
    title = "Revisited Oxford"
    what = "70 queries over 4,993 photographs of Oxford; easy, medium and hard"
    source = "the revisitop project of Filip Radenovic on GitHub; pictures are those of Oxford5k"
    reference = REFERENCE
    folders = ("roxford5k", "datasets/roxford5k")
    holds = ("jpg/*.jpg",)

    def listing(self, root: Path | None, file: VectorFile | None) -> Listing:  # noqa: ARG002
        truth = self.truth(root, ["easy", "hard", "junk"])
        folder = self.folder(root)
        return Listing(
            [f"{name}.jpg" for name in truth.gallery],
            [f"{name}.jpg" for name in truth.queries],
            Revisited(truth.entries),
            None if folder is None else folder / "jpg",
            truth.boxes,
        )


class RParis6k(ROxford5k):
    name = "rparis6k"
    title = "Revisited Paris"
    what = "70 queries over 6,322 photographs of Paris; easy, medium and hard"
    source = "the revisitop project of Filip Radenovic on GitHub; pictures are those of Paris6k"
    folders = ("rparis6k", "datasets/rparis6k")


class ROxfordMillion(WithDistractors):
    name = "roxford5k+1m"
    title = "Revisited Oxford + R1M"
    what = "70 queries over 4,993 photographs of Oxford and 1,001,001 distractors"
    source = "the revisitop project of Filip Radenovic on GitHub: roxford5k and revisitop1m"
    reference = REFERENCE
    base: QuerySource = ROxford5k()
    distractors = "revisitop1m"
    distractor_folders = ("revisitop1m/jpg", "datasets/revisitop1m/jpg", "images/revisitop1m/jpg")


class RParisMillion(ROxfordMillion):
    name = "rparis6k+1m"
    title = "Revisited Paris + R1M"
    what = "70 queries over 6,322 photographs of Paris and 1,001,001 distractors"
    source = "the revisitop project of Filip Radenovic on GitHub: rparis6k and revisitop1m"
    base = RParis6k()


SOURCES = (ROxford5k(), RParis6k(), ROxfordMillion(), RParisMillion())
