"""Names, kinds, cards, and what is said when something is not there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from foldwalk import datasets
from foldwalk.core import BadInput, MissingData, UnknownName

REQUIRED = [
    "roxford5k",
    "rparis6k",
    "roxford5k+1m",
    "rparis6k+1m",
    "oxford5k",
    "oxford105k",
    "paris6k",
    "paris106k",
    "holidays",
    "instre",
    "orl",
    "coil20",
    "mpeg7",
    "cub200",
    "cub_first100",
    "cub_last100",
    "cars196",
    "sop",
    "inshop",
    "market1501",
    "cuhk03",
    "cuhk03-labeled",
    "omniglot",
    "grocery",
    "digits",
    "pami",
    "synthetic",
    "czoo",
    "lion",
    "emoji4",
]


def test_every_set_is_registered() -> None:
    assert set(REQUIRED) <= set(datasets.names())
    assert datasets.names() == sorted(set(datasets.names()))


def test_no_name_could_be_taken_for_the_features_of_another() -> None:
    """NAME_*.npz belongs to NAME: so no name may begin with another name and an underscore."""
    names = datasets.names()
    assert not [(a, b) for a in names for b in names if b.startswith(f"{a}_")]


def test_absent_sets_name_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(MissingData, match=r"images/orl/s\*/\*\.pgm or .* features/orl_\*\.npz .*Olivetti"):
        datasets.load("orl", tmp_path)
    with pytest.raises(MissingData, match=r"orl as features .*: looked for features/orl_\*\.npz"):
        datasets.load("orl:features", tmp_path)
    with pytest.raises(MissingData) as caught:
        datasets.load("orl:pictures", tmp_path)
    assert "features" not in str(caught.value)


def test_unknown_names_get_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r'no data set "oxfrod5k"; the nearest names are .*oxford5k'):
        datasets.load("oxfrod5k")
    with pytest.raises(UnknownName, match=r"known are .*orl"):
        datasets.describe("zzzzzzzz")
    for name in ("", "..", "../features", "*"):
        with pytest.raises(UnknownName):
            datasets.load(name)


def test_kinds_are_checked(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match='no kind "vectors"'):
        datasets.load("digits", kind="vectors")
    with pytest.raises(BadInput, match="pictures and pixels at once"):
        datasets.load("digits:pixels", kind="pictures")
    with pytest.raises(BadInput, match='"orl:7" is not known'):
        datasets.load("orl:7", tmp_path)
    with pytest.raises(BadInput, match="not used as raw pixels"):
        datasets.load("roxford5k:pixels", tmp_path)
    assert datasets.load("digits:pixels", kind="pixels").kind == "pixels"
    assert datasets.load("digits:pictures").gallery is None


def test_where_the_root_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, save_features) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingData, match="needs a data folder: name one, set FOLDWALK_DATA"):
        datasets.load("orl")
    for folder, value in (("data", 1.0), ("set", 2.0), ("argument", 3.0)):
        save_features(tmp_path / folder, "orl", x=np.full((2, 3), value), labels=np.array(["a", "a"]))
    assert datasets.load("orl").gallery[0, 0] == 1
    monkeypatch.setenv("FOLDWALK_DATA", str(tmp_path / "set"))
    assert datasets.load("orl").gallery[0, 0] == 2
    assert datasets.load("orl", tmp_path / "argument").gallery[0, 0] == 3
    assert datasets.describe("orl").found == tmp_path / "set" / "features" / "orl.npz"


def test_sets_no_loader_knows_are_loaded_from_features_and_class_folders(
    tmp_path: Path, save_features, draw_picture
) -> None:
    save_features(tmp_path, "shop_resnet", x=np.eye(3), labels=np.array([0, 0, 1]))
    dataset = datasets.load("shop", tmp_path)
    assert (dataset.name, dataset.kind, dataset.gallery.shape) == ("shop", "features", (3, 3))
    assert dataset.protocol.name == "leave-one-out"
    assert datasets.describe("shop", tmp_path).present

    for name in ("cat/1.png", "cat/2.png", "dog/1.png"):
        draw_picture(tmp_path / "images" / "pets" / name)
    pets = datasets.load("pets", tmp_path)
    assert pets.kind == "pictures"
    assert pets.labels.tolist() == ["cat", "cat", "dog"]
    with pytest.raises(UnknownName):
        datasets.load("pets", tmp_path / "elsewhere")


def test_a_feature_file_by_its_path_takes_the_protocol_of_its_name(tmp_path: Path, save_features) -> None:
    features = {"x": np.eye(4), "labels": np.array(list("aabb"))}
    first = save_features(tmp_path, "orl_one", **features)
    save_features(tmp_path, "orl_two", **features)
    with pytest.raises(BadInput, match=r"several feature files .*orl_one\.npz.*by its path"):
        datasets.load("orl", tmp_path)
    assert datasets.describe("orl", tmp_path).present
    dataset = datasets.load(str(first))
    assert dataset.name == "orl"
    assert dataset.protocol.bullseye == 15
    other = save_features(tmp_path, "orlando", **features)
    assert datasets.load(str(other)).name == "orlando"
    with pytest.raises(BadInput, match="is a feature file"):
        datasets.load(str(first), kind="pixels")
    with pytest.raises(MissingData, match="does not exist"):
        datasets.load(str(tmp_path / "none.npz"))
