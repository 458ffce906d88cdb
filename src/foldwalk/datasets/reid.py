"""Identities and cameras out of file names, as in Market-1501: 0002_c1s1_000451_03.jpg, -1_c3s2_..."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.types import IntArray
from foldwalk.datasets.query_sources import Listing
from foldwalk.evaluate import ReID

NAME = re.compile(r"(-?\d+)_c(\d+)")


def identities_and_cameras(names: Sequence[str]) -> tuple[IntArray, IntArray]:
    """The identity and the camera of each picture."""
    found = [NAME.match(name.rpartition("/")[2]) for name in names]
    if None in found:
        raise BadInput(
            f"{names[found.index(None)]} does not begin with an identity and a camera, such as 0002_c1."
        )
    pairs = np.array([(int(m[1]), int(m[2])) for m in found if m is not None], dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def reid_listing(
    gallery: Sequence[str], queries: Sequence[str], folder: Path | None, distractors: Sequence[int]
) -> Listing:
    """The ground truth that the names tell; `distractors` are identities that stand for nobody."""
    gallery_ids, gallery_cameras = identities_and_cameras(gallery)
    query_ids, query_cameras = identities_and_cameras(queries)
    protocol = ReID(query_ids, query_cameras, gallery_ids, gallery_cameras, distractors=distractors)
    return Listing(gallery, queries, protocol, folder, labels=gallery_ids)
