"""Oxford Buildings and Paris with their first ground truth, alone or among 100,000 Flickr pictures.

The ground truth is four text files per query: NAME_query.txt (a picture and a box in it), NAME_good.txt and
NAME_ok.txt (to be found), NAME_junk.txt (passed over). A query's own picture is in the gallery, and counts
where a list names it, as in the authors' program.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.vector_files import VectorFile
from foldwalk.datasets.published_files import need_file, picture_names, read_lines, read_table, real_number
from foldwalk.datasets.query_sources import Listing, QuerySource, WithDistractors
from foldwalk.evaluate import Oxford

# Twenty of the published pictures of Paris are broken; its authors list them, everyone leaves them out.
BROKEN_IN_PARIS = frozenset(
    f"paris_{place}_{number:06d}"
    for place, numbers in {
        "louvre": (136, 146),
        "moulinrouge": (422,),
        "museedorsay": (1059,),
        "notredame": (188,),
        "pantheon": (284, 960, 974),
        "pompidou": (195, 196, 201, 467, 640),
        "sacrecoeur": (299, 330, 353),
        "triomphe": (662, 833, 863, 867),
    }.items()
    for number in numbers
)


class Oxford5k(QuerySource):
    name = "oxford5k"
    title = "Oxford Buildings"
    what = "55 queries over 5,063 photographs of 11 places in Oxford"
    source = "the Visual Geometry Group, Oxford: oxbuild_images.tgz and gt_files_170407.tgz"
    reference = (
        "Philbin et al.: Object retrieval with large vocabularies and fast spatial matching, CVPR 2007"
    )
    folders = ("oxford5k", "oxbuildings", "datasets/oxford5k")
    holds = ("*_query.txt", "*/*_query.txt")

    def listing(self, root: Path | None, file: VectorFile | None) -> Listing:
        folder = self.folder(root)
        if folder is None:
            raise self.missing(root)
        gallery = picture_names(folder)
        if not gallery and file is not None and file.keys is not None:
            gallery = file.keys
        gallery = [name for name in gallery if _bare(name) not in BROKEN_IN_PARIS]
        if not gallery:
            raise self.missing(root)
        return _listing(folder, gallery)


class Paris6k(Oxford5k):
    name = "paris6k"
    title = "Paris"
    what = "55 queries over 6,392 photographs of 11 places in Paris"
    source = "the Visual Geometry Group, Oxford: paris_1.tgz, paris_2.tgz and paris_120310.tgz"
    reference = "Philbin et al.: Lost in quantization, CVPR 2008"
    folders = ("paris6k", "paris", "datasets/paris6k")


class Oxford105k(WithDistractors):
    name = "oxford105k"
    title = "Oxford Buildings + Flickr 100k"
    what = "55 queries over 5,063 photographs of Oxford and 100,071 distractors"
    source = "the Visual Geometry Group, Oxford: the files of oxford5k and oxc1_100k.part01.rar to part40.rar"
    reference = Oxford5k.reference
    base: QuerySource = Oxford5k()
    distractors = "flickr100k"
    distractor_folders = ("flickr100k", "oxc1_100k", "images/flickr100k", "images/oxc1_100k")


class Paris106k(Oxford105k):
    name = "paris106k"
    title = "Paris + Flickr 100k"
    what = "55 queries over 6,392 photographs of Paris and 100,071 distractors"
    source = "the Visual Geometry Group, Oxford: the files of paris6k and oxc1_100k.part01.rar to part40.rar"
    reference = Paris6k.reference
    base = Paris6k()


def _bare(name: str) -> str:
    return name.rpartition("/")[2].partition(".")[0]


def _listing(folder: Path, gallery: list[str]) -> Listing:
    ids = {_bare(name): i for i, name in enumerate(gallery)}
    queries, boxes, positives, junk = [], [], [], []
    for path in sorted(folder.rglob("*_query.txt")):
        rows = read_table(path, 5)
        if len(rows) != 1:
            raise BadInput(f"{path} must hold one line, a picture and a box.")
        name, *box = rows[0]
        queries.append(gallery[_find(ids, [name.removeprefix("oxc1_")], path)[0]])
        boxes.append([real_number(side, path) for side in box])
        good, ok, bad = (_listed(path, part, ids) for part in ("good", "ok", "junk"))
        positives.append(good + ok)
        junk.append(bad)
    return Listing(gallery, queries, Oxford(positives, junk), folder, np.array(boxes))


def _listed(query_file: Path, part: str, ids: dict[str, int]) -> list[int]:
    path = query_file.with_name(query_file.name.replace("_query.txt", f"_{part}.txt"))
    names = read_lines(need_file([path], f"the list of what is {part} for a query"))
    return _find(ids, [name for name in names if name not in BROKEN_IN_PARIS], path)


def _find(ids: dict[str, int], names: list[str], path: Path) -> list[int]:
    unknown = next((name for name in names if name not in ids), None)
    if unknown is not None:
        raise BadInput(f"{path} names {unknown}, which is not among the pictures; unpack them again.")
    return [ids[name] for name in names]


SOURCES = (Oxford5k(), Paris6k(), Oxford105k(), Paris106k())
