"""DeepFashion In-Shop: shop photographs as queries, other photographs of the same garment to be found.

The part to train on has other garments, and no queries.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.vector_files import VectorFile
from foldwalk.datasets.class_sources import ClassSource, Pictures
from foldwalk.datasets.published_files import need_file, read_table, safe_name
from foldwalk.datasets.query_sources import Listing, QuerySource, rows_of_split
from foldwalk.evaluate import QueryGallery

LIST = "list_eval_partition.txt"
RECALL_AT = (1, 10, 20, 30, 40, 50)  # as in the paper, and 1


class InShop(QuerySource):
    name = "inshop"
    title = "DeepFashion In-Shop Clothes Retrieval"
    what = "14,218 queries over 12,612 photographs of 3,985 garments"
    source = (
        "the DeepFashion database of the Multimedia Laboratory, CUHK: In-shop Clothes Retrieval Benchmark"
    )
    reference = "Liu et al.: DeepFashion: powering robust clothes recognition and retrieval, CVPR 2016"
    folders = ("inshop", "In-shop", "In-shop Clothes Retrieval Benchmark")
    holds = (LIST, f"Eval/{LIST}", f"Anno/{LIST}")

    def listing(self, root: Path | None, file: VectorFile | None) -> Listing:
        folder = self.folder(root)
        if folder is not None:
            return _from_list(folder)
        if file is None or file.labels is None:
            raise self.missing(root)
        gallery, gallery_names = rows_of_split(file, "gallery", "test")
        queries, query_names = rows_of_split(file, "query")
        protocol = QueryGallery(file.labels[queries], file.labels[gallery], recall_at=RECALL_AT)
        return Listing(gallery_names, query_names, protocol, folder=None, labels=file.labels[gallery])


class InShopTrain(ClassSource):
    name = "inshop-train"
    title = "DeepFashion In-Shop Clothes Retrieval, training part"
    what = "25,882 photographs of 3,997 garments"
    source, reference, folders, holds = InShop.source, InShop.reference, InShop.folders, InShop.holds

    def pictures(self, folder: Path) -> Pictures:
        rows = [(name, item) for name, item, status in _rows(folder)[1] if status == "train"]
        return Pictures([name for name, _ in rows], [item for _, item in rows], _picture_folder(folder))


def _rows(folder: Path) -> tuple[Path, list[tuple[str, str, str]]]:
    """The list, and its rows: image_name item_id evaluation_status."""
    path = need_file([folder / LIST, folder / "Eval" / LIST, folder / "Anno" / LIST], LIST)
    # They stand under the number of pictures and a heading.
    return path, [(safe_name(name, path), item, status) for name, item, status in read_table(path, 3, skip=2)]


def _picture_folder(folder: Path) -> Path:
    return folder / "Img" if (folder / "Img" / "img").is_dir() else folder


def _from_list(folder: Path) -> Listing:
    path, rows = _rows(folder)
    names = {part: [name for name, _, status in rows if status == part] for part in ("query", "gallery")}
    items = {part: [item for _, item, status in rows if status == part] for part in ("query", "gallery")}
    if not names["query"] or not names["gallery"]:
        raise BadInput(f"{path} names no query or no gallery pictures; get it again from its authors.")
    pictures = _picture_folder(folder)
    return Listing(
        names["gallery"],
        names["query"],
        QueryGallery(items["query"], items["gallery"], recall_at=RECALL_AT),
        pictures if (pictures / "img").is_dir() else None,
        labels=np.array(items["gallery"]),
    )


SOURCES = (InShop(), InShopTrain())
