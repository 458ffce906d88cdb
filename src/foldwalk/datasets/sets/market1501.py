"""Market-1501: the same person under another camera."""

from __future__ import annotations

from pathlib import Path

from foldwalk.core.errors import MissingData
from foldwalk.core.vector_files import VectorFile
from foldwalk.datasets.published_files import picture_names
from foldwalk.datasets.query_sources import Listing, QuerySource, rows_of_split
from foldwalk.datasets.reid import reid_listing


class Market1501(QuerySource):
    name = "market1501"
    title = "Market-1501"
    what = "3,368 queries over 19,732 detections of 750 people, junk and distractors, six cameras"
    source = "the authors of Market-1501, Market-1501-v15.09.15.zip"
    reference = "Zheng et al.: Scalable person re-identification: a benchmark, ICCV 2015"
    folders: tuple[str, ...] = ("market1501", "Market-1501-v15.09.15")
    holds: tuple[str, ...] = ("bounding_box_test/*.*",)
    distractors: tuple[int, ...] = (0,)

    def listing(self, root: Path | None, file: VectorFile | None) -> Listing:
        folder = self.folder(root)
        if folder is not None:
            gallery, queries = _names(folder, "bounding_box_test"), _names(folder, "query")
            return reid_listing(gallery, queries, folder, self.distractors)
        if file is None:
            raise self.missing(root)
        gallery, queries = rows_of_split(file, "gallery", "test")[1], rows_of_split(file, "query")[1]
        return reid_listing(gallery, queries, None, self.distractors)


def _names(folder: Path, below: str) -> list[str]:
    names = picture_names(folder / below)
    if not names:
        raise MissingData(f"{folder / below} holds no pictures; unpack the set again.")
    return [f"{below}/{name}" for name in names]


SOURCES = (Market1501(),)
