"""Tuning from the labels to the search: the best is found and used, or nothing changes."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from foldwalk.core import BadInput
from foldwalk.index import CannotWrite, Index
from foldwalk.index.asking.fitted import KIND as FITTED
from foldwalk.index.tuning.by_pairs import Pair
from foldwalk.index.tuning.types import Candidate
from foldwalk.rerank.context.cdm import CDM
from foldwalk.rerank.expansion.aqe import AQE

THREE = [Candidate(name) for name in ("plain", "aqe", "cas")]


def couples(count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Two of a kind: whoever looks beyond the nearest goes astray."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(count), 2)
    return rng.normal(size=(count, 16))[labels] + 0.6 * rng.normal(size=(2 * count, 16)), labels


def arcs(count: int = 10, each: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Classes along arcs of more than half a circle: whoever looks at the distance alone sees half of one."""
    rng = np.random.default_rng(0)
    turns = np.linspace(0, 1.2 * np.pi, each)
    planes = [np.linalg.qr(rng.normal(size=(12, 2)))[0] for _ in range(count)]
    points = np.concatenate([np.column_stack([np.cos(turns), np.sin(turns)]) @ plane.T for plane in planes])
    return points + 0.02 * rng.normal(size=points.shape), np.repeat(np.arange(count), each)


@pytest.fixture
def labelled(make_index):
    """An index with the labels as folders, and shuffled in the field `chance`."""

    def make(points: np.ndarray, labels: np.ndarray, used: str) -> Index:
        keys = [f"c{label}/{place}" for place, label in enumerate(labels)]
        shuffled = np.random.default_rng(5).permutation(labels).tolist()
        known = {key: {"chance": label, "one": 1} for key, label in zip(keys, shuffled, strict=True)}
        index = make_index()
        index.add_vectors(points, keys, known)
        index.prefer(used)
        return index

    return make


@pytest.mark.parametrize(("made", "used", "best"), [(couples, "cas", "plain"), (arcs, "plain", "cas")])
def test_the_best_is_found_and_used_from_then_on(labelled, made, used, best):
    index = labelled(*made(), used)
    tuned = index.tune(candidates=THREE)
    assert (tuned.winner, tuned.used, tuned.enough, tuned.kept, tuned.folds) == (best, used, True, True, 5)
    figures = {row.name: row.figures["mAP"] for row in tuned.candidates}
    assert max(figures, key=figures.get) == best
    assert tuned.held_out == pytest.approx(figures[best])  # every fold chose it
    assert tuned.best.folds == 5
    assert tuned.lead == pytest.approx(figures[best] - figures[used])
    assert index.preferred() == (best, {})
    assert index.search(index.keys()[0]).method == best
    assert "above" in index.info().preferred.reason
    again = index.tune(candidates=THREE)
    assert (again.winner, again.used, again.kept) == (best, best, False)
    assert again.sentence == f"Nothing ranks above {best}, which searches use; it stays."
    json.dumps(tuned.as_dict())


@pytest.mark.parametrize("made", [couples, arcs])
@pytest.mark.parametrize("used", ["plain", "cas"])
def test_with_shuffled_labels_nothing_changes(labelled, made, used):
    index = labelled(*made(), used)
    tuned = index.tune("chance", candidates=THREE)
    assert not tuned.kept
    assert index.preferred() == (used, {})
    assert f"{used} stays" in tuned.sentence or f"above {used}" in tuned.sentence


def test_shown_only_nothing_is_kept(labelled):
    index = labelled(*arcs(), "plain")
    tuned = index.tune(candidates=THREE, keep=False)
    assert (tuned.winner, tuned.enough, tuned.kept) == ("cas", True, False)
    assert index.preferred() == ("plain", {})


def test_few_classes_are_too_few(labelled):
    points, labels = arcs(count=3)
    index = labelled(points, labels, "plain")
    tuned = index.tune(candidates=THREE)
    assert (tuned.winner, tuned.enough, tuned.kept, tuned.folds) == ("cas", False, False, 3)
    assert "too thin: there are only 3 classes; plain stays" in tuned.sentence
    assert "thin: there are only 3 classes" in index.tune(candidates=[Candidate("plain")]).sentence


def test_few_items_are_too_few(labelled):
    points, labels = arcs(count=6, each=4)
    tuned = labelled(points, labels, "aqe").tune(candidates=THREE)
    assert not tuned.enough
    assert "there are only 24 labelled items" in tuned.sentence


def test_a_field_counts_where_items_have_it(labelled):
    points, labels = arcs()
    index = labelled(points, labels, "plain")
    keys = index.keys()
    some = {key: {"kind": f"k{label}"} for key, label in list(zip(keys, labels, strict=True))[::2]}
    index.add_vectors(points, keys, some)
    tuned = index.tune("kind", candidates=THREE)
    assert (tuned.winner, tuned.labelled, tuned.asked, tuned.groups) == ("cas", 120, 120, 10)
    assert tuned.by == "kind"


def test_pairs_that_somebody_marked(labelled):
    points, labels = arcs()
    index = labelled(points, labels, "plain")
    keys = index.keys()
    pairs = []
    for start in range(0, len(keys), 24):
        for place in (0, 2, 4):  # far apart on one arc; in the middle of two
            pairs.append(Pair(keys[start + place], keys[start + place + 18], True))
            pairs.append(Pair(keys[start + place + 7], keys[(start + 24) % len(keys) + place + 8], False))
    tuned = index.tune(pairs=pairs, candidates=THREE)
    assert list(tuned.best.figures) == ["AUC", "R@10"]
    assert (tuned.by, tuned.winner, tuned.kept) == ("pairs", "cas", True)
    index.prefer("plain")
    assert "only 4 groups of pairs; plain stays" in index.tune(pairs=pairs[:4], candidates=THREE).sentence
    chain = [Pair(keys[0], keys[1], True), Pair(keys[1], keys[24], False), Pair(keys[0], keys[24], False)]
    assert "the pairs are too few, or hang together" in index.tune(pairs=chain, candidates=THREE).sentence
    assert index.preferred() == ("plain", {})


def test_one_candidate_that_fails_is_left_out(labelled, monkeypatch):
    index = labelled(*arcs(), "plain")

    def refuse(_):
        raise BadInput("no good.")

    monkeypatch.setattr(AQE, "_prepare", refuse)
    tuned = index.tune(candidates=THREE)
    assert tuned.kept
    assert [row.failure for row in tuned.candidates] == [None, "no good.", None]
    index.prefer("aqe")
    with pytest.raises(BadInput, match="aqe, which searches use, cannot be compared: no good"):
        index.tune(candidates=THREE)


def test_each_candidate_is_fitted_once_and_nothing_is_left_of_it(labelled, monkeypatch):
    monkeypatch.setattr("foldwalk.index.asking.fitted.SAVED_FROM", 2)
    index = labelled(*arcs(), "plain")
    fits = []
    prepare = CDM._prepare

    def counted(self):
        fits.append(1)
        prepare(self)

    monkeypatch.setattr(CDM, "_prepare", counted)
    index.tune(candidates=[Candidate("cdm"), Candidate("cdm", {"k": 4}), Candidate("cdm")])
    assert len(fits) == 2
    assert index.store.groups(FITTED) == []


def test_what_cannot_be_tuned_is_refused_and_nothing_changes(labelled, monkeypatch):
    index = labelled(*arcs(), "plain")
    for options, words in (
        ({"by": "nobody"}, "the field 'nobody'"),
        ({"by": "one"}, "the same value of 'one'"),
        ({"pairs": [Pair("c0/0", "nobody", True, 1)]}, "no item 'nobody'"),
        ({"candidates": [Candidate("no_such")]}, "no method"),
        ({"candidates": [Candidate("cas", {"cluster_k": 0})]}, "cluster_k"),
        ({"candidates": [Candidate("gradnet")]}, "trained"),
    ):
        with pytest.raises(BadInput, match=words):
            index.tune(**options)
    monkeypatch.setattr(type(index.store), "put_rows", lambda *_: False)
    with pytest.raises(CannotWrite, match="no right to keep what it prefers"):
        index.tune(candidates=THREE)
    assert index.tune(candidates=THREE, keep=False).winner == "cas"
    assert index.preferred() == ("plain", {})


def test_another_process_searches_by_it(labelled, tmp_path):
    index = labelled(*arcs(), "plain")
    index.tune(candidates=[Candidate("plain"), Candidate("cas", {"cluster_k": 12})])
    index.add_vectors(np.ones((1, 12)), ["new"])
    index.backup(tmp_path / "copy.fold")
    index.close()
    command = [sys.executable, "-m", "foldwalk", "info", str(tmp_path / "copy.fold"), "--json"]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert told["preferred"]["method"] == "cas"
    assert told["preferred"]["parameters"] == {"cluster_k": 12}
    with Index.open(tmp_path / "x.fold") as again:
        assert again.preferred() == ("cas", {"cluster_k": 12})


def test_without_labels_it_is_said_what_can_be_seen(make_index):
    points, _ = arcs()
    seen = make_index(points).outlook()
    assert seen.items == 240
    assert len(seen.mutuality) >= 20
    assert set(seen.agreement) == {"w25", "w50"}
    assert all(0 < share < 1 for share in seen.agreement.values())
    assert seen.sentence.endswith(".")
    flat = make_index(points, "y.fold", metric="euclidean").outlook()
    assert flat.agreement == {}
    assert make_index(points[:1], "one.fold").outlook().agreement == {}
    with pytest.raises(BadInput, match="is empty"):
        make_index(name="empty.fold").outlook()


def test_views_agree_as_far_as_their_first_ten_do(make_index):
    points, _ = arcs(count=4)
    index = make_index(points)
    first = {
        name: index.fitted("plain", {"views": name}).rank_self(top=10).ids for name in ("raw", "w25", "w50")
    }
    for name, share in index.outlook().agreement.items():
        pairs = zip(first[name], first["raw"], strict=True)
        assert share == pytest.approx(np.mean([len(set(a) & set(b)) / 10 for a, b in pairs]))
