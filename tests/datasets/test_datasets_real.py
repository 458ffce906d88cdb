"""The loaders of the sets that are at hand, against the counts they are known to have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from foldwalk import datasets
from foldwalk.core import MissingData, Ranking, Vectors
from foldwalk.datasets.sets.roxford5k import ROxford5k, RParis6k


def plain_search(dataset: datasets.Dataset) -> dict[str, float]:
    gallery = Vectors.check(dataset.gallery).unit().values
    similarity = gallery @ gallery.T
    np.fill_diagonal(similarity, -2)
    order = np.argsort(-similarity, axis=1, kind="stable")
    return dataset.protocol.evaluate(Ranking(order, np.take_along_axis(similarity, order, axis=1)))


@pytest.mark.parametrize(
    ("name", "count", "classes", "mean_ap", "has_pictures"),
    [
        ("orl", 400, 40, 0.865, True),
        ("coil20", 1440, 20, 0.913, True),
        ("mpeg7", 1400, 70, 0.710, True),
        ("grocery", 2485, 81, 0.495, True),
        ("czoo", 2109, 24, 0.157, False),
        ("lion", 740, 94, None, False),
        ("emoji4", 7428, 1857, None, False),
        ("cub_first100", 5864, 100, None, True),
        ("cub_last100", 5924, 100, None, True),
        ("cub200", 5924, 100, None, True),
    ],
)
def test_features(
    data_root: Path, name: str, count: int, classes: int, mean_ap: float | None, has_pictures: bool
) -> None:
    dataset = datasets.load(name, data_root)
    assert (dataset.name, dataset.kind, dataset.metric) == (name, "features", "cosine")
    assert dataset.gallery.shape == (count, 1280)
    assert dataset.gallery.dtype == np.float32
    assert dataset.queries is None
    assert len(np.unique(dataset.labels)) == classes
    assert dataset.protocol.n_queries == count
    assert (dataset.gallery_paths is not None) == has_pictures
    assert (dataset.picture(count - 1) is not None) == has_pictures
    if mean_ap is not None:
        assert plain_search(dataset)["mAP"] == pytest.approx(mean_ap, abs=0.0006)


def test_pictures_belong_to_their_rows(data_root: Path) -> None:
    """The class is in the path of the picture, so a wrong match would show."""
    orl = datasets.load("orl", data_root)
    assert [path.parent.name for path in orl.gallery_paths] == orl.labels.tolist()
    cub = datasets.load("cub200", data_root)
    assert [path.parent.name for path in cub.gallery_paths] == cub.labels.tolist()
    coil = datasets.load("coil20", data_root)
    assert [path.name.split("__")[0] for path in coil.gallery_paths] == coil.labels.tolist()
    for dataset in (orl, cub, coil):
        assert len(set(dataset.gallery_paths)) == len(dataset.gallery_paths)


def test_orl_pixels_as_in_gradnet(data_root: Path) -> None:
    dataset = datasets.load("orl:pixels", data_root)
    assert dataset.gallery.shape == (400, 92 * 112)
    assert (dataset.gallery.min(), dataset.gallery.max()) == (0, 251)
    assert np.array_equal(dataset.gallery[7], np.asarray(dataset.picture(7), dtype=np.float32).ravel())
    figures = plain_search(dataset)
    assert figures["bullseye@15"] == pytest.approx(0.622, abs=0.001)
    assert figures["bullseye@15+query"] == pytest.approx(0.714, abs=0.001)
    assert datasets.load("orl", data_root).gallery_paths == dataset.gallery_paths


@pytest.mark.parametrize(("name", "count", "side"), [("coil20", 1440, 32), ("mpeg7", 1400, 64)])
def test_other_pixels(data_root: Path, name: str, count: int, side: int) -> None:
    dataset = datasets.load(name, data_root, kind="pixels")
    assert dataset.gallery.shape == (count, side * side)
    assert dataset.gallery.min() >= 0
    assert 200 < dataset.gallery.max() <= 255
    assert 0.4 < plain_search(dataset)["mAP"] < 0.9


def test_mpeg7_is_measured_by_bullseye_40(data_root: Path) -> None:
    dataset = datasets.load("mpeg7", data_root)
    assert dataset.protocol.bullseye == 40


def test_omniglot_out_of_the_archives(data_root: Path) -> None:
    dataset = datasets.load("omniglot", data_root)
    assert dataset.kind == "pixels"
    assert dataset.gallery.shape == (242 * 20, 28 * 28)
    _, sizes = np.unique(dataset.labels, return_counts=True)
    assert sizes.tolist() == [20] * 242
    assert dataset.pixels.shape == (4840, 105, 105)
    assert dataset.picture(0).size == (105, 105)
    assert datasets.load("omniglot:pictures", data_root).gallery is None


@pytest.mark.parametrize(
    ("name", "count", "classes"),
    [("cub200", 5924, 100), ("cub_first100", 5864, 100), ("grocery", 2485, 81), ("orl", 400, 40)],
)
def test_pictures_only(data_root: Path, name: str, count: int, classes: int) -> None:
    dataset = datasets.load(f"{name}:pictures", data_root)
    assert dataset.kind == "pictures"
    assert dataset.gallery is dataset.queries is None
    assert len(dataset.gallery_paths) == dataset.protocol.n_queries == count
    assert len(set(dataset.labels.tolist())) == classes
    assert dataset.picture(3).size == dataset.query_picture(3).size


def test_the_cub_split_is_disjoint(data_root: Path) -> None:
    train = datasets.load("cub_first100:pictures", data_root)
    test = datasets.load("cub200:pictures", data_root)
    assert len(set(train.gallery_paths) | set(test.gallery_paths)) == 11788
    assert max(train.labels) < "101." <= min(test.labels)


@pytest.mark.parametrize(("loader", "gallery", "first"), [(ROxford5k(), 4993, 30), (RParis6k(), 6322, 85)])
def test_revisited_ground_truth(data_root: Path, loader: ROxford5k, gallery: int, first: int) -> None:
    listing = loader.listing(data_root, None)
    assert (len(listing.gallery), len(listing.queries)) == (gallery, 70)
    assert listing.protocol.n_queries == 70
    assert listing.boxes.shape == (70, 4)
    truth = loader.truth(data_root, ["easy"])
    assert truth.entries[0]["easy"][0] == first
    assert not loader.describe(data_root).present
    with pytest.raises(MissingData, match=r"is not in .*jpg"):
        loader.load(data_root, "auto")


def test_revisited_oxford_with_perfect_features(data_root: Path, tmp_path: Path, save_features) -> None:
    """A gallery vector points at the queries it is right for, so everything must be found."""
    (tmp_path / "gnd_roxford5k.json").symlink_to(data_root / "gnd_roxford5k.json")
    truth = ROxford5k().truth(tmp_path, ["easy", "hard", "junk"])
    x = np.full((4993, 71), 0.01, dtype=np.float32)
    x[:, 70] = 1
    for q, entry in enumerate(truth.entries):
        x[np.concatenate([entry["easy"], entry["hard"]]), q] = 5
    queries = np.eye(70, 71, dtype=np.float32)
    save_features(tmp_path, "roxford5k_perfect", X=x.T, Q=queries.T)
    dataset = datasets.load("roxford5k", tmp_path)
    assert dataset.gallery.shape == (4993, 71)
    scores = dataset.queries @ dataset.gallery.T
    order = np.argsort(-scores, axis=1, kind="stable")
    figures = dataset.protocol.evaluate(Ranking(order, np.take_along_axis(scores, order, axis=1)))
    assert figures["mAP_easy"] == figures["mAP_medium"] == figures["mAP_hard"] == 1
    save_features(tmp_path, "rparis6k_wrong", X=x.T, Q=queries.T)
    (tmp_path / "gnd_rparis6k.json").symlink_to(data_root / "gnd_rparis6k.json")
    with pytest.raises(ValueError, match="holds 4993 vectors and 70 queries, but rparis6k has 6322 and 70"):
        datasets.load("rparis6k", tmp_path)
