"""The reference sets and what to compare on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from foldwalk.core import Ranking
from foldwalk.evaluate import QueryGallery

SETS = ("syn1000", "orl", "grocery")


@dataclass(frozen=True)
class Reference:
    queries: np.ndarray
    gallery: np.ndarray
    query_labels: np.ndarray
    gallery_labels: np.ndarray
    answers: dict[str, np.ndarray]

    def mean_average_precision(self, ranking: Ranking, rows: np.ndarray | slice = slice(None)) -> float:
        """Of these queries, in percent, by trapezoids, as the reference figures are."""
        protocol = QueryGallery(self.query_labels[rows], self.gallery_labels, trapezoid=True)
        return 100 * protocol.evaluate(ranking)["mAP"]


def load_reference(name: str, reference_root: Path, data_root: Path) -> Reference:
    with np.load(reference_root / f"{name}.npz", allow_pickle=False) as file:
        answers = {k.removeprefix("ranking_"): file[k].astype(np.int64) for k in file.files if "ranking" in k}
        if "queries" in file.files:
            sides = file["queries"], file["gallery"], file["query_labels"], file["gallery_labels"]
        else:
            with np.load(data_root / f"features/{name}_effnetlite0_gap_f16.npz", allow_pickle=False) as data:
                x, labels = data["x"].astype(np.float32), data["labels"]
            asked, stored = file["query_rows"], file["gallery_rows"]
            sides = x[asked], x[stored], labels[asked], labels[stored]
    return Reference(*sides, answers)


def overlap(ours: Ranking, theirs: np.ndarray, first: int = 50) -> float:
    """The share of their first fifty that ours has among its own.

    Where our walk reached fewer, only so many are compared: behind them ours goes on by plain similarity,
    the authors' programs by whatever order their sort leaves equal scores in.
    """
    shares = []
    for ids, scores, other in zip(ours.ids, ours.scores, theirs, strict=True):
        depth = min(first, int((scores > 0).sum()))
        if depth:
            shares.append(len(np.intersect1d(ids[:depth], other[:depth])) / depth)
    return float(np.mean(shares))
