"""Ground-truth files of landmark and instance retrieval: gnd_NAME.pkl, .json or .mat.

Each holds imlist (the gallery), qimlist (the queries) and gnd, with one entry per query: bbx, and lists of
gallery ids under easy, hard and junk, or under ok. MATLAB counts the ids from 1, the others from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foldwalk.core.errors import BadInput, MissingData
from foldwalk.core.types import Float64Array
from foldwalk.datasets.published_files import (
    first_file,
    need_key,
    number_list,
    read_json,
    read_mat,
    read_plain_pickle,
    safe_name,
    text_list,
)
from foldwalk.datasets.query_sources import QuerySource
from foldwalk.datasets.sources import Kind

READERS = {".pkl": read_plain_pickle, ".json": read_json, ".mat": read_mat}


@dataclass(frozen=True, eq=False)
class GroundTruth:
    gallery: list[str]
    queries: list[str]
    entries: list[dict[str, np.ndarray]]
    boxes: Float64Array | None  # (q, 4), as the file has them


class GroundTruthSource(QuerySource):
    """A set whose pictures, queries and right answers stand in one file gnd_NAME."""

    def truth_file(self, root: Path | None) -> Path | None:
        """gnd_NAME.pkl, .json or .mat in the folder of the set, or in the root."""
        if root is None:
            return None
        folders = [*(root / place for place in self.places()), root]
        return first_file([folder / f"gnd_{self.name}{suffix}" for folder in folders for suffix in READERS])

    def found(self, root: Path | None) -> Path | None:
        return None if self.truth_file(root) is None else super().found(root)

    def layout(self) -> tuple[str, ...]:
        return (f"{self.folders[0]}/gnd_{self.name}.pkl (.json, .mat)", *super().layout())

    def missing(self, root: Path | None, kind: Kind = "auto") -> MissingData:
        if root is None or self.truth_file(root) is not None:
            return super().missing(root, kind)
        return MissingData(
            f"{self.name} needs its ground truth gnd_{self.name}.pkl, .json or .mat in {root} or in "
            f"{root / self.folders[0]}; get it from {self.source}."
        )

    def truth(self, root: Path | None, parts: Sequence[str]) -> GroundTruth:
        path = self.truth_file(root)
        if path is None:
            raise self.missing(root)
        return read_ground_truth(path, parts)


def read_ground_truth(path: Path, parts: Sequence[str]) -> GroundTruth:
    """The ground truth whose entries list ids under the given parts."""
    values = READERS[path.suffix](path)
    if not isinstance(values, dict):
        raise BadInput(f"{path} is not a ground truth: it holds no imlist, qimlist and gnd.")
    gallery = [safe_name(name, path) for name in text_list(need_key(values, "imlist", path), path)]
    queries = [safe_name(name, path) for name in text_list(need_key(values, "qimlist", path), path)]
    raw = need_key(values, "gnd", path)
    entries = [raw] if isinstance(raw, dict) else list(np.ravel(np.asarray(raw, dtype=object)))
    if len(entries) != len(queries) or not all(isinstance(entry, dict) for entry in entries):
        raise BadInput(f"{path} must hold one entry in gnd for each of its {len(queries)} queries.")
    first = 1 if path.suffix == ".mat" else 0
    lists = [{part: _ids(entry, part, first, len(gallery), path) for part in parts} for entry in entries]
    return GroundTruth(gallery, queries, lists, _boxes(entries, path))


def _ids(entry: dict[str, Any], part: str, first: int, count: int, path: Path) -> np.ndarray:
    ids = number_list(need_key(entry, part, path), path) - first
    if ids.size and (ids.min() < 0 or ids.max() >= count):
        raise BadInput(f'{path}: an id in "{part}" lies outside the {count} images of imlist.')
    return ids


def _boxes(entries: list[dict[str, Any]], path: Path) -> Float64Array | None:
    if not all("bbx" in entry for entry in entries):
        return None
    try:
        boxes = np.array([entry["bbx"] for entry in entries], dtype=np.float64)
    except (ValueError, TypeError):
        boxes = np.empty(0)
    if boxes.shape != (len(entries), 4) or not np.isfinite(boxes).all():
        raise BadInput(f"{path}: each bbx must be four numbers.")
    return boxes
