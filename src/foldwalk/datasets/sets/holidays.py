"""INRIA Holidays: groups of a few photographs of one scene; the first of each group is the query.

A picture's number tells its group (number // 100); numbers that end in 00 are queries. The query itself is
passed over in its ranking.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from foldwalk.core.vector_files import VectorFile
from foldwalk.datasets.published_files import picture_names, whole_number
from foldwalk.datasets.query_sources import Listing, QuerySource
from foldwalk.evaluate import Oxford


class Holidays(QuerySource):
    name = "holidays"
    title = "INRIA Holidays"
    what = "500 queries over 1,491 photographs of 500 scenes"
    source = "INRIA, jpg1.tar.gz and jpg2.tar.gz of the Holidays data set"
    reference = "Jegou, Douze, Schmid: Hamming embedding and weak geometric consistency, ECCV 2008"
    folders = ("holidays", "Holidays")
    holds = ("jpg/*00.jpg", "*00.jpg")

    def listing(self, root: Path | None, file: VectorFile | None) -> Listing:
        folder = self.folder(root)
        if folder is not None:
            gallery = picture_names(folder)
        elif file is not None and file.keys is not None:
            gallery = file.keys
        else:
            raise self.missing(root)
        numbers = np.array(
            [whole_number(name.rpartition("/")[2].partition(".")[0], Path(name)) for name in gallery]
        )
        queries = np.flatnonzero(numbers % 100 == 0)
        groups = numbers // 100
        positives = [np.flatnonzero((groups == groups[q]) & (numbers != numbers[q])) for q in queries]
        return Listing(
            gallery, [gallery[q] for q in queries], Oxford(positives, [[q] for q in queries]), folder
        )


SOURCES = (Holidays(),)
