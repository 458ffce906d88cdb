"""Feature files in every form, and how their rows find their pictures."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from foldwalk import datasets
from foldwalk.core import BadInput
from foldwalk.datasets.features import match_names, name_keys, read_features

X = np.arange(12, dtype=np.float32).reshape(4, 3)
LABELS = np.array(["a", "a", "b", "b"])


def test_half_precision_becomes_single(tmp_path: Path, save_features) -> None:
    file = read_features(save_features(tmp_path, "f", x=X.astype(np.float16), labels=LABELS))
    assert file.vectors.dtype == np.float32
    assert np.array_equal(file.vectors, X)
    assert file.labels.tolist() == LABELS.tolist()
    assert file.queries is file.split is file.keys is None


@pytest.mark.parametrize("labels_suffix", [".npy", ".txt"])
def test_npy_with_labels_beside_it(tmp_path: Path, labels_suffix: str) -> None:
    (tmp_path / "features").mkdir()
    np.save(tmp_path / "features" / "toys.npy", X)
    beside = tmp_path / "features" / f"toys_labels{labels_suffix}"
    if labels_suffix == ".npy":
        np.save(beside, LABELS)
    else:
        beside.write_text("a\na\nb\nb\n")
    dataset = datasets.load("toys", tmp_path)
    assert np.array_equal(dataset.gallery, X)
    assert dataset.labels.tolist() == LABELS.tolist()


@pytest.mark.parametrize("turned", [False, True])
def test_mat_with_rows_or_columns(tmp_path: Path, turned: bool) -> None:
    path = tmp_path / "toys.mat"
    scipy.io.savemat(path, {"X": X.T if turned else X, "labels": np.array([[1.0, 1, 2, 2]])})
    file = read_features(path)
    assert np.array_equal(file.vectors, X)
    assert file.labels.tolist() == [1, 1, 2, 2]


@pytest.mark.parametrize("suffix", [".mat", ".npz"])
def test_x_and_q_in_columns(tmp_path: Path, suffix: str) -> None:
    """As the revisited benchmark publishes them: one column per picture."""
    path = tmp_path / f"toys{suffix}"
    parts = {"X": X.T, "Q": X[:2].T + 1}
    scipy.io.savemat(path, parts) if suffix == ".mat" else np.savez(path, **parts)
    file = read_features(path)
    assert np.array_equal(file.vectors, X)
    assert np.array_equal(file.queries, X[:2] + 1)
    assert file.vectors.flags.c_contiguous


def test_text_labels_of_matlab(tmp_path: Path) -> None:
    path = tmp_path / "toys.mat"
    scipy.io.savemat(path, {"x": X, "labels": np.array(["ab", "ab", "c", "c"], dtype=object)})
    assert read_features(path).labels.tolist() == ["ab", "ab", "c", "c"]


def test_queries_with_labels_make_a_query_protocol(reference_root: Path) -> None:
    dataset = datasets.load(str(reference_root / "syn1000.npz"))
    assert (dataset.gallery.shape, dataset.queries.shape) == ((1000, 256), (100, 256))
    assert dataset.protocol.name == "query-gallery"
    assert dataset.picture(0) is None
    assert dataset.query_picture(0) is None


def test_bad_files_are_refused(tmp_path: Path, save_features) -> None:
    def refused(path: Path, why: str) -> None:
        with pytest.raises(BadInput, match=why) as caught:
            datasets.load(str(path))
        assert str(path) in str(caught.value)

    refused(save_features(tmp_path, "a", labels=LABELS), "holds no vectors")
    refused(save_features(tmp_path, "b", x=X), "holds no labels")
    refused(save_features(tmp_path, "c", x=X, labels=LABELS[:3]), "4 vectors, but 3 labels")
    refused(save_features(tmp_path, "d", x=X, labels=LABELS, paths=LABELS[:2]), "but 2 keys")
    refused(save_features(tmp_path, "e", x=X * np.nan, labels=LABELS), "is nan")
    refused(save_features(tmp_path, "f", x=X, labels=LABELS, queries=X), "no query_labels")
    refused(save_features(tmp_path, "g", x=X, labels=np.array([0.5, 1, 1, 1])), "whole numbers or text")
    refused(save_features(tmp_path, "h", x=X, labels=LABELS, paths=np.arange(4) * 1j), "keys must be text")
    refused(save_features(tmp_path, "i", x=X, labels=LABELS, queries=X[:, :2]), "2 dimensions, but 3")
    for suffix in (".npz", ".npy", ".mat"):
        path = tmp_path / f"junk{suffix}"
        path.write_bytes(b"this is no array at all, whatever its name says" * 9)
        refused(path, "cannot be read as a MATLAB file" if suffix == ".mat" else "is no .np")


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    marker = tmp_path / "ran"

    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, (marker,)

    for path in (tmp_path / "evil.npz", tmp_path / "evil.npy"):
        evil = np.array([Evil()], dtype=object)
        np.savez(path, x=evil) if path.suffix == ".npz" else np.save(path, evil, allow_pickle=True)
        with pytest.raises(BadInput, match="other than an array of numbers"):
            datasets.load(str(path))
    assert not marker.exists()
    pickle.loads(pickle.dumps(Evil()))
    assert marker.exists()  # the test can fail


def test_names_are_matched_but_never_guessed() -> None:
    pictures = [name_keys(name) for name in ("s1/1.pgm", "s1/2.pgm", "s2/1.pgm", "other/alone.pgm")]

    def find(*rows: tuple[str, str]) -> list[int]:
        return match_names([name_keys(path, [label]) for label, path in rows], pictures)

    assert find(("s2", "1.pgm"), ("s1", "1.png"), ("x", "alone.jpg")) == [2, 0, 3]
    assert find(("s9", "1.pgm")) == [-1]  # two pictures are called 1
    assert find(("x", "alone.jpg"), ("y", "alone.jpg")) == [-1, -1]  # two rows claim one picture
    assert find(("s1", "1"), ("s1", "1")) == [0, 0]  # the same row twice does not
    assert match_names([name_keys("a.b/c")], [name_keys("a.b/c.jpg")]) == [0]
    assert match_names([], pictures) == []


def test_pictures_behind_features(tmp_path: Path, save_features, draw_picture) -> None:
    save_features(
        tmp_path,
        "orl_net",
        x=X,
        labels=np.array(["s1", "s1", "s2", "s2"]),
        paths=np.array(["1.pgm", "2.pgm"] * 2),
    )
    assert datasets.load("orl", tmp_path).picture(0) is None
    grey = {name: 10 * i for i, name in enumerate(("s1/1", "s1/2", "s2/1"))}
    for name, value in grey.items():
        draw_picture(tmp_path / "images" / "orl" / f"{name}.pgm", grey=value)
    assert datasets.load("orl", tmp_path).gallery_paths is None  # one picture is missing
    draw_picture(tmp_path / "images" / "orl" / "s2" / "2.pgm", grey=30)
    dataset = datasets.load("orl", tmp_path)
    assert dataset.kind == "features"
    assert [dataset.picture(i).getpixel((0, 0)) for i in range(4)] == [0, 10, 20, 30]
    assert dataset.query_picture(3).getpixel((0, 0)) == 30
    dataset.gallery_paths[0].unlink()
    assert dataset.picture(0) is None
    dataset.gallery_paths[1].write_bytes(b"P5 broken")
    with pytest.raises(BadInput, match="cannot be decoded"):
        dataset.picture(1)


def test_emoji_pictures_are_told_apart_by_vendor(tmp_path: Path, save_features, draw_picture) -> None:
    save_features(
        tmp_path,
        "emoji4_net",
        x=X,
        labels=np.array(["1f004", "1f0cf"] * 2),
        split=np.array(["apple", "apple", "google", "google"]),
        paths=np.array(["1f004.png", "1f0cf.png"] * 2),
    )
    draw_picture(tmp_path / "images" / "emoji4" / "apple" / "1f004.png")
    assert datasets.load("emoji4", tmp_path).gallery_paths is None
    for vendor in ("apple", "google"):
        for code in ("1f004", "1f0cf"):
            draw_picture(tmp_path / "images" / "emoji4" / vendor / f"{code}.png")
    paths = datasets.load("emoji4", tmp_path).gallery_paths
    assert [f"{p.parent.name}/{p.stem}" for p in paths] == [
        "apple/1f004",
        "apple/1f0cf",
        "google/1f004",
        "google/1f0cf",
    ]
    pictures = datasets.load("emoji4:pictures", tmp_path)
    assert pictures.labels.tolist() == ["1f004", "1f0cf", "1f004", "1f0cf"]
