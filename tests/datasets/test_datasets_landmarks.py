"""Oxford, Paris, Holidays and INSTRE, in small trees of the published layout."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io

from foldwalk import datasets
from foldwalk.core import BadInput, MissingData, Ranking

NAMES = [f"place_{i:06d}" for i in range(5)]
GROUND_TRUTH: dict[str, Any] = {
    "imlist": NAMES,
    "qimlist": ["query_a", "query_b"],
    "gnd": [
        {"bbx": [1, 0, 3, 2], "easy": [0, 3], "hard": [1], "junk": [4]},
        {"bbx": [0.0, 0.0, 2.5, 4.0], "easy": [2], "hard": [], "junk": []},
    ],
}


def evaluate(dataset: datasets.Dataset, *rows: list[int]) -> dict[str, float]:
    ids = np.array(rows)
    return dataset.protocol.evaluate(Ranking(ids, np.tile(-np.arange(ids.shape[1]), (len(ids), 1))))


def revisited_tree(root: Path, draw_picture, suffix: str) -> Path:
    folder = root / "roxford5k"
    for name in (*GROUND_TRUTH["imlist"], *GROUND_TRUTH["qimlist"]):
        draw_picture(folder / "jpg" / f"{name}.jpg")
    path = folder / f"gnd_roxford5k{suffix}"
    if suffix == ".pkl":
        path.write_bytes(pickle.dumps(GROUND_TRUTH, protocol=2))
    elif suffix == ".json":
        path.write_text(json.dumps(GROUND_TRUTH))
    else:
        entries = [
            {key: np.add(value, 0 if key == "bbx" else 1) for key, value in entry.items()}
            for entry in GROUND_TRUTH["gnd"]
        ]
        names = {key: np.array(GROUND_TRUTH[key], dtype=object) for key in ("imlist", "qimlist")}
        gnd = np.array([tuple(e.values()) for e in entries], dtype=[(key, object) for key in entries[0]])
        scipy.io.savemat(path, names | {"gnd": gnd})
    return path


@pytest.mark.parametrize("suffix", [".pkl", ".json", ".mat"])
def test_revisited_oxford(tmp_path: Path, draw_picture, suffix: str) -> None:
    revisited_tree(tmp_path, draw_picture, suffix)
    dataset = datasets.load("roxford5k", tmp_path)
    assert dataset.kind == "pictures"
    assert [path.stem for path in dataset.gallery_paths] == NAMES
    assert [path.stem for path in dataset.query_paths] == ["query_a", "query_b"]
    assert dataset.query_picture(0).size == (2, 2)  # cut to its box
    assert dataset.picture(0).size == (6, 4)
    perfect = evaluate(dataset, [4, 0, 3, 1, 2], [2, 0, 1, 3, 4])
    assert perfect["mAP_medium"] == perfect["mAP_easy"] == perfect["mAP_hard"] == 1
    # the hard one second of what counts in "hard" (3, 0 and 4 do not): trapezoid (0 + 1/2) / 2
    assert evaluate(dataset, [3, 0, 4, 2, 1], [2, 0, 1, 3, 4])["mAP_hard"] == pytest.approx(0.25)


def test_revisited_oxford_aligns_features_by_name(tmp_path: Path, draw_picture, save_features) -> None:
    revisited_tree(tmp_path, draw_picture, ".json")
    names = [*NAMES[::-1], "query_b", "query_a"]
    x = np.arange(14, dtype=np.float32).reshape(7, 2)
    save_features(tmp_path, "roxford5k_net", x=x, paths=np.array([f"{n}.jpg" for n in names]))
    dataset = datasets.load("roxford5k", tmp_path)
    assert np.array_equal(dataset.gallery, x[:5][::-1])
    assert np.array_equal(dataset.queries, x[[6, 5]])
    assert dataset.query_picture(0).size == (2, 2)
    save_features(tmp_path, "roxford5k_net", x=x[1:], paths=np.array([f"{n}.jpg" for n in names[1:]]))
    with pytest.raises(BadInput, match=r"no vector for place_000004\.jpg"):
        datasets.load("roxford5k", tmp_path)
    save_features(tmp_path, "roxford5k_net", x=x)
    with pytest.raises(BadInput, match="x_query, or the names as paths"):
        datasets.load("roxford5k", tmp_path)


@pytest.mark.parametrize("listed", [False, True])
def test_revisited_oxford_with_a_million(tmp_path: Path, draw_picture, save_features, listed: bool) -> None:
    revisited_tree(tmp_path, draw_picture, ".pkl")
    with pytest.raises(MissingData, match="beside roxford5k it needs the distractors"):
        datasets.load("roxford5k+1m", tmp_path)
    for name in ("0a/1.jpg", "0b/2.jpg"):
        draw_picture(tmp_path / "revisitop1m" / "jpg" / name)
    if listed:
        (tmp_path / "revisitop1m" / "revisitop1m.txt").write_text("0b/2.jpg\n0a/1.jpg\n")
    order = ["2", "1"] if listed else ["1", "2"]
    pictures = datasets.load("roxford5k+1m", tmp_path)
    assert [path.stem for path in pictures.gallery_paths] == NAMES + order
    assert pictures.protocol.n_queries == 2
    assert datasets.describe("roxford5k+1m", tmp_path).present

    save_features(tmp_path, "roxford5k_net_gem", X=np.ones((3, 5)), Q=np.ones((3, 2)))
    save_features(tmp_path, "revisitop1m_other", X=np.zeros((4, 2)))
    save_features(tmp_path, "revisitop1m_net_gem", X=np.zeros((3, 2)))
    dataset = datasets.load("roxford5k+1m", tmp_path)
    assert dataset.gallery.shape == (7, 3)
    assert dataset.gallery.any(axis=1).tolist() == [True] * 5 + [False] * 2
    assert dataset.gallery_paths == pictures.gallery_paths
    evaluate(dataset, [0, 1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1, 0])
    (tmp_path / "features" / "revisitop1m_net_gem.npz").unlink()
    with pytest.raises(BadInput, match=r"revisitop1m_other.* 2 dimensions, but 3"):
        datasets.load("roxford5k+1m", tmp_path)


def test_list_of_distractors_stays_in_its_folder(tmp_path: Path, draw_picture) -> None:
    revisited_tree(tmp_path, draw_picture, ".json")
    draw_picture(tmp_path / "revisitop1m" / "jpg" / "1.jpg")
    (tmp_path / "revisitop1m" / "revisitop1m.txt").write_text("../../secret.jpg\n")
    with pytest.raises(BadInput, match="leads out"):
        datasets.load("roxford5k+1m", tmp_path)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"imlist": None}, "names were expected"),
        ({"imlist": ["../secret", *NAMES[1:]]}, "leads out"),
        ({"qimlist": ["query_a"]}, "one entry in gnd for each of its 1 queries"),
        ({"gnd": [1, 2]}, "one entry in gnd"),
        ({"gnd": [{"bbx": [0, 0, 1, 1], "easy": [5], "hard": [], "junk": []}] * 2}, "outside the 5 images"),
        ({"gnd": [{"bbx": [0, 0, 1, 1], "easy": [-1], "hard": [], "junk": []}] * 2}, "outside the 5 images"),
        ({"gnd": [{"bbx": [0, 0, 1, 1], "easy": ["a"], "hard": [], "junk": []}] * 2}, "whole numbers"),
        ({"gnd": [{"bbx": [0, 0, 1], "easy": [], "hard": [], "junk": []}] * 2}, "four numbers"),
        ({"gnd": [{"bbx": [0, 0, 1, 1], "easy": [], "hard": []}] * 2}, 'no "junk"'),
    ],
)
def test_bad_ground_truth_is_refused(tmp_path: Path, draw_picture, change: dict[str, Any], why: str) -> None:
    path = revisited_tree(tmp_path, draw_picture, ".json")
    path.write_text(json.dumps(GROUND_TRUTH | change))
    with pytest.raises(BadInput, match=why) as caught:
        datasets.load("roxford5k", tmp_path)
    assert str(path) in str(caught.value)
    path.write_text(json.dumps([1]))
    with pytest.raises(BadInput, match="is not a ground truth"):
        datasets.load("roxford5k", tmp_path)


def test_a_ground_truth_that_runs_code_does_not(tmp_path: Path, draw_picture) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, (f"touch {tmp_path / 'ran'}",)

    path = revisited_tree(tmp_path, draw_picture, ".pkl")
    path.write_bytes(pickle.dumps(GROUND_TRUTH | {"gnd": Evil()}))
    with pytest.raises(BadInput, match="asks for"):
        datasets.load("roxford5k", tmp_path)
    assert not (tmp_path / "ran").exists()


def test_pictures_without_ground_truth(tmp_path: Path, draw_picture) -> None:
    path = revisited_tree(tmp_path, draw_picture, ".json")
    path.unlink()
    assert not datasets.describe("roxford5k", tmp_path).present
    with pytest.raises(MissingData, match=r"needs its ground truth gnd_roxford5k\.pkl"):
        datasets.load("roxford5k", tmp_path)


def oxford_tree(root: Path, write, draw_picture, names: list[str]) -> None:
    for name in names:
        draw_picture(root / "oxbuild_images" / f"{name}.jpg")
    lists = root / "gt_files_170407"
    write(lists / "spire_1_query.txt", "oxc1_spire_000001 1.2 0.9 5.0 4.0\n")
    write(lists / "spire_1_good.txt", "spire_000001\nspire_000003\n")
    write(lists / "spire_1_ok.txt", "spire_000002\n")
    write(lists / "spire_1_junk.txt", "oxford_000009\n")
    write(lists / "spire_2_query.txt", "spire_000003 0 0 6 4\n")
    write(lists / "spire_2_good.txt", "spire_000002\n")
    for part in ("ok", "junk"):
        write(lists / f"spire_2_{part}.txt", "")


OXFORD = ["oxford_000009", "spire_000001", "spire_000002", "spire_000003", "zoo_000000"]


def test_oxford(tmp_path: Path, write, draw_picture) -> None:
    oxford_tree(tmp_path / "oxford5k", write, draw_picture, OXFORD)
    dataset = datasets.load("oxford5k", tmp_path)
    assert [path.stem for path in dataset.gallery_paths] == OXFORD
    assert [path.stem for path in dataset.query_paths] == ["spire_000001", "spire_000003"]
    assert dataset.query_picture(0).size == (4, 3)
    assert evaluate(dataset, [0, 1, 2, 3, 4], [2, 0, 1, 3, 4])["mAP"] == 1  # junk in front does no harm
    half = evaluate(dataset, [1, 2, 3, 0, 4], [4, 2, 0, 1, 3])["mAP"]
    assert half == pytest.approx((1 + 0.25) / 2)

    (tmp_path / "oxford5k" / "gt_files_170407" / "spire_1_ok.txt").write_text("nowhere_000001\n")
    with pytest.raises(BadInput, match=r"spire_1_ok\.txt names nowhere_000001"):
        datasets.load("oxford5k", tmp_path)
    (tmp_path / "oxford5k" / "gt_files_170407" / "spire_1_ok.txt").unlink()
    with pytest.raises(MissingData, match=r"what is ok for a query is missing"):
        datasets.load("oxford5k", tmp_path)


@pytest.mark.parametrize("line", ["", "a 1 2 3 4\nb 1 2 3 4", "spire_000001 1 2 3", "spire_000001 a b c d"])
def test_oxford_refuses_bad_queries(tmp_path: Path, write, draw_picture, line: str) -> None:
    oxford_tree(tmp_path / "oxford5k", write, draw_picture, OXFORD)
    write(tmp_path / "oxford5k" / "gt_files_170407" / "spire_2_query.txt", line)
    with pytest.raises(BadInput, match=r"spire_2_query\.txt"):
        datasets.load("oxford5k", tmp_path)


def test_oxford_from_features_alone(tmp_path: Path, write, draw_picture, save_features) -> None:
    """Without pictures the names of the feature file tell the gallery."""
    oxford_tree(tmp_path / "oxford5k", write, draw_picture, [])
    with pytest.raises(MissingData):
        datasets.load("oxford5k", tmp_path)
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    save_features(tmp_path, "oxford5k_net", x=x, paths=np.array(OXFORD))
    dataset = datasets.load("oxford5k", tmp_path)
    assert np.array_equal(dataset.gallery, x)
    assert np.array_equal(dataset.queries, x[[1, 3]])
    assert dataset.gallery_paths is None


def test_oxford_105k(tmp_path: Path, write, draw_picture) -> None:
    oxford_tree(tmp_path / "oxford5k", write, draw_picture, OXFORD)
    draw_picture(tmp_path / "oxc1_100k" / "ams" / "ams_000001.jpg")
    dataset = datasets.load("oxford105k", tmp_path)
    assert dataset.name == "oxford105k"
    assert [path.stem for path in dataset.gallery_paths] == [*OXFORD, "ams_000001"]
    assert evaluate(dataset, [1, 2, 3, 0, 4, 5], [2, 0, 1, 3, 4, 5])["mAP"] == 1


def test_paris_leaves_out_what_is_broken(tmp_path: Path, write, draw_picture) -> None:
    folder = tmp_path / "paris6k"
    for name in ("paris_louvre_000001", "paris_louvre_000136", "paris_louvre_000200"):
        draw_picture(folder / "paris" / "louvre" / f"{name}.jpg")
    write(folder / "gt" / "louvre_1_query.txt", "paris_louvre_000001 0 0 3 3")
    write(folder / "gt" / "louvre_1_good.txt", "paris_louvre_000001\nparis_louvre_000136")
    write(folder / "gt" / "louvre_1_ok.txt", "paris_louvre_000200")
    write(folder / "gt" / "louvre_1_junk.txt", "")
    dataset = datasets.load("paris6k", tmp_path)
    assert [path.stem for path in dataset.gallery_paths] == ["paris_louvre_000001", "paris_louvre_000200"]
    assert evaluate(dataset, [0, 1])["mAP"] == 1


def test_twenty_pictures_of_paris_are_broken() -> None:
    from foldwalk.datasets.sets.oxford5k import BROKEN_IN_PARIS

    assert len(BROKEN_IN_PARIS) == 20
    assert "paris_museedorsay_001059" in BROKEN_IN_PARIS


HOLIDAYS = ["100000", "100001", "100002", "100100", "100101"]


def test_holidays(tmp_path: Path, draw_picture) -> None:
    for name in HOLIDAYS:
        draw_picture(tmp_path / "holidays" / "jpg" / f"{name}.jpg")
    dataset = datasets.load("holidays", tmp_path)
    assert [path.stem for path in dataset.gallery_paths] == HOLIDAYS
    assert [path.stem for path in dataset.query_paths] == ["100000", "100100"]
    assert evaluate(dataset, [0, 1, 2, 3, 4], [3, 4, 0, 1, 2])["mAP"] == 1  # the query itself is passed over
    assert evaluate(dataset, [0, 1, 2, 3, 4], [3, 0, 4, 1, 2])["mAP"] == pytest.approx((1 + 0.25) / 2)


def test_holidays_from_features_alone(tmp_path: Path, save_features) -> None:
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    save_features(tmp_path, "holidays_net", x=x, paths=np.array([f"{n}.jpg" for n in HOLIDAYS]))
    dataset = datasets.load("holidays", tmp_path)
    assert np.array_equal(dataset.gallery, x)
    assert np.array_equal(dataset.queries, x[[0, 3]])
    save_features(tmp_path, "holidays_net", x=x, paths=np.array(list("abcde")))
    with pytest.raises(BadInput, match="'a' where a whole number"):
        datasets.load("holidays", tmp_path)


def instre_tree(root: Path, draw_picture, boxes: list[list[int]], suffix: str = ".mat") -> None:
    gallery = ["INSTRE-S1/01a/001.jpg", "INSTRE-S1/01a/002.jpg", "INSTRE-M/01/001.jpg"]
    queries = ["INSTRE-S1/01a/009.jpg", "INSTRE-S2/02/001.jpg"]
    for name in (*gallery, *queries):
        draw_picture(root / "instre" / name, size=(10, 8))
    lists = [[0, 2], [1]]
    path = root / "instre" / f"gnd_instre{suffix}"
    if suffix == ".json":
        gnd = [{"ok": ids, "bbx": box} for ids, box in zip(lists, boxes, strict=True)]
        path.write_text(json.dumps({"imlist": gallery, "qimlist": queries, "gnd": gnd}))
        return
    entries = np.array(
        [(np.add(ids, 1), np.array(box)) for ids, box in zip(lists, boxes, strict=True)],
        dtype=[("ok", object), ("bbx", object)],
    )
    cells = {"imlist": np.array(gallery, dtype=object), "qimlist": np.array(queries, dtype=object)}
    scipy.io.savemat(path, cells | {"gnd": entries})


@pytest.mark.parametrize("suffix", [".mat", ".json"])
def test_instre(tmp_path: Path, draw_picture, suffix: str) -> None:
    instre_tree(tmp_path, draw_picture, [[1, 1, 5, 4], [6, 5, 10, 8]], suffix)
    dataset = datasets.load("instre", tmp_path)
    assert len(dataset.gallery_paths) == 3
    assert dataset.query_picture(0).size == (4, 3)
    assert evaluate(dataset, [0, 2, 1], [1, 0, 2])["mAP"] == 1
    assert evaluate(dataset, [0, 2, 1], [0, 1, 2])["mAP"] == pytest.approx((1 + 0.25) / 2)


def test_instre_boxes_of_width_and_height(tmp_path: Path, draw_picture) -> None:
    instre_tree(tmp_path, draw_picture, [[1, 1, 5, 4], [6, 5, 4, 3]])
    dataset = datasets.load("instre", tmp_path)
    assert dataset.query_boxes.tolist() == [[1, 1, 6, 5], [6, 5, 10, 8]]
