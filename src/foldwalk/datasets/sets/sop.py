"""Stanford Online Products: Ebay_train.txt to train on, Ebay_test.txt to test on; no product is in both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from foldwalk.core.types import AnyArray
from foldwalk.datasets.class_sources import ClassSource, Pictures
from foldwalk.datasets.published_files import read_table, safe_name
from foldwalk.evaluate import LeaveOneOut, Protocol

RECALL_AT = (1, 10, 100, 1000)  # as in the paper


class StanfordOnlineProducts(ClassSource):
    name = "sop"
    title = "Stanford Online Products, test products"
    what = "60,502 pictures of 11,316 things for sale"
    source = "Stanford, Stanford_Online_Products.zip"
    reference = "Oh Song et al.: Deep metric learning via lifted structured feature embedding, CVPR 2016"
    folders = ("sop", "Stanford_Online_Products")
    listed = "Ebay_test.txt"
    holds: tuple[str, ...] = (listed,)

    def protocol(self, labels: Sequence[str] | AnyArray) -> Protocol:
        return LeaveOneOut(labels, recall_at=RECALL_AT)

    def pictures(self, folder: Path) -> Pictures:
        path = folder / self.listed  # image_id class_id super_class_id path, under a heading
        rows = read_table(path, 4, skip=1)
        return Pictures([safe_name(row[3], path) for row in rows], [row[1] for row in rows], folder)


class StanfordOnlineProductsTrain(StanfordOnlineProducts):
    name = "sop-train"
    title = "Stanford Online Products, training products"
    what = "59,551 pictures of 11,318 things for sale"
    listed = "Ebay_train.txt"
    holds = (listed,)


SOURCES = (StanfordOnlineProducts(), StanfordOnlineProductsTrain())
