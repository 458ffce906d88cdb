"""Figures that others measured on real data come out again."""

from __future__ import annotations

from pathlib import Path

import evaluate_naive as naive
import numpy as np
import pytest
from PIL import Image

from foldwalk.core import Ranking, Vectors
from foldwalk.evaluate import LeaveOneOut, QueryGallery


def by_cosine(queries: np.ndarray, gallery: np.ndarray) -> Ranking:
    similarities = Vectors.check(queries).unit().values @ Vectors.check(gallery).unit().values.T
    return naive.ranking(np.argsort(-similarities, axis=1, kind="stable"))


def features(data_root: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(data_root / f"features/{name}_effnetlite0_gap_f16.npz", allow_pickle=False) as file:
        return file["x"], file["labels"]


@pytest.mark.parametrize(("name", "published"), [("orl", 0.865), ("coil20", 0.913), ("mpeg7", 0.710)])
def test_leave_one_out_map_of_plain_search(data_root: Path, name: str, published: float) -> None:
    x, labels = features(data_root, name)
    assert round(LeaveOneOut(labels).evaluate(by_cosine(x, x))["mAP"], 3) == published


def test_bullseye_of_faces_by_their_pixels(data_root: Path) -> None:
    files = [data_root / f"images/orl/s{person}/{i}.pgm" for person in range(1, 41) for i in range(1, 11)]
    pixels = np.stack([np.asarray(Image.open(file), dtype=np.float32).ravel() for file in files])
    figures = LeaveOneOut(np.repeat(np.arange(40), 10), bullseye=15).evaluate(by_cosine(pixels, pixels))
    assert round(100 * figures["bullseye@15"], 1) == 62.2
    assert round(100 * figures["bullseye@15+query"], 1) == 71.4


@pytest.mark.parametrize(
    ("name", "published", "from_first_200"),
    [("syn1000", 65.42, 65.13), ("orl", 85.61, 85.60), ("grocery", 49.34, 48.10)],
)
def test_trapezoid_map_of_the_reference_programs(
    data_root: Path, reference_root: Path, name: str, published: float, from_first_200: float
) -> None:
    """The figure is that of whole rankings; the files hold the first 200 answers, which score less."""
    with np.load(reference_root / f"{name}.npz", allow_pickle=False) as file:
        first_200 = naive.ranking(file["ranking_plain"])
        if name == "syn1000":
            queries, query_labels = file["queries"], file["query_labels"]
            gallery, gallery_labels = file["gallery"], file["gallery_labels"]
        else:
            x, labels = features(data_root, name)
            queries, query_labels = x[file["query_rows"]], labels[file["query_rows"]]
            gallery, gallery_labels = x[file["gallery_rows"]], labels[file["gallery_rows"]]
    protocol = QueryGallery(query_labels, gallery_labels, trapezoid=True)
    assert round(100 * protocol.evaluate(by_cosine(queries, gallery))["mAP"], 2) == published
    assert round(100 * protocol.evaluate(first_200)["mAP"], 2) == from_first_200
