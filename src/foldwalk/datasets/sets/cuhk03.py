"""CUHK03 in the new protocol (767 people to train on, 700 to test on), boxes labelled by hand or detected.

Two published forms are read: CUHK03-NP, whose folders and names are those of Market-1501; and
cuhk03_new_protocol_config_*.mat beside the pictures in images_labeled or images_detected. The release itself
is one MATLAB 7.3 file, out of which the pictures must be taken first.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.types import IntArray
from foldwalk.core.vector_files import VectorFile
from foldwalk.datasets.published_files import need_key, number_list, read_mat, safe_name, text_list
from foldwalk.datasets.query_sources import Listing
from foldwalk.datasets.sets.market1501 import Market1501
from foldwalk.evaluate import ReID


class CUHK03Detected(Market1501):
    boxes = "detected"
    distractors = ()
    name = "cuhk03"
    title = "CUHK03, new protocol, detected boxes"
    what = "1,400 queries over 5,332 detections of 700 people, two cameras"
    source = "the person-re-ranking project of Zhun Zhong on GitHub (CUHK03-NP); pictures from CUHK"
    reference = (
        "Li et al.: DeepReID, CVPR 2014; Zhong et al.: Re-ranking person re-identification with k-reciprocal "
        "encoding, CVPR 2017"
    )
    folders = ("cuhk03-np", "CUHK03-NP", "cuhk03")
    holds = ("detected/bounding_box_test/*.*", "cuhk03_new_protocol_config_detected.mat")

    def folder(self, root: Path | None) -> Path | None:
        found = super().folder(root)
        market_form = None if found is None else found / self.boxes
        return market_form if market_form is not None and market_form.is_dir() else found

    def listing(self, root: Path | None, file: VectorFile | None) -> Listing:
        folder = self.folder(root)
        config = None if folder is None else folder / f"cuhk03_new_protocol_config_{self.boxes}.mat"
        if folder is None or config is None or not config.is_file():
            return super().listing(root, file)
        pictures = folder / f"images_{self.boxes}"
        return _from_config(config, pictures if pictures.is_dir() else None)


class CUHK03Labeled(CUHK03Detected):
    boxes = "labeled"
    name = "cuhk03-labeled"
    title = "CUHK03, new protocol, boxes labelled by hand"
    what = "1,400 queries over 5,328 pictures of 700 people, two cameras"
    holds = ("labeled/bounding_box_test/*.*", "cuhk03_new_protocol_config_labeled.mat")


def _from_config(path: Path, folder: Path | None) -> Listing:
    values = read_mat(path)
    names = [safe_name(name, path) for name in text_list(need_key(values, "filelist", path), path)]
    people, cameras = (number_list(need_key(values, key, path), path) for key in ("labels", "camId"))
    if not len(names) == len(people) == len(cameras):
        raise BadInput(f"{path} must hold as many labels and cameras as file names.")
    gallery, queries = (_rows(values, key, len(names), path) for key in ("gallery_idx", "query_idx"))
    return Listing(
        [names[row] for row in gallery],
        [names[row] for row in queries],
        ReID(people[queries], cameras[queries], people[gallery], cameras[gallery]),
        folder,
        labels=people[gallery],
    )


def _rows(values: dict[str, Any], key: str, count: int, path: Path) -> IntArray:
    rows = number_list(need_key(values, key, path), path) - 1  # MATLAB counts from 1
    if rows.size and (rows.min() < 0 or rows.max() >= count):
        raise BadInput(f"{path}: {key} lies outside the {count} names of filelist.")
    return np.asarray(rows)


SOURCES = (CUHK03Detected(), CUHK03Labeled())
