"""Labels, folds, figures and the choice, each beside a loop written from its definition."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from foldwalk.core import BadInput, MissingData, Ranking, UnknownName
from foldwalk.evaluate import LeaveOneOut
from foldwalk.index.tuning import by_class, by_pairs
from foldwalk.index.tuning.by_class import ByClass
from foldwalk.index.tuning.by_pairs import ByPairs, Pair
from foldwalk.index.tuning.candidates import checked, usual
from foldwalk.index.tuning.choosing import choose, doubt, too_few
from foldwalk.index.tuning.folds import dealt, mean, standard_error
from foldwalk.index.tuning.labels import codes_by, has_folders
from foldwalk.index.tuning.pair_file import read_pairs
from foldwalk.index.tuning.types import Candidate
from foldwalk.index.view import View


def rankings(n: int, rows=None, seed: int = 0) -> np.ndarray:
    """A random order of all others for each of the rows."""
    rng = np.random.default_rng(seed)
    rows = range(n) if rows is None else rows
    return np.array([[i for i in rng.permutation(n) if i != row] for row in rows])


def test_classes_are_judged_as_by_the_protocol():
    labels = np.random.default_rng(1).permutation(60) % 7
    ids = rankings(60)
    judge = ByClass(labels)
    assert judge.rows.tolist() == list(range(60))
    wanted = LeaveOneOut(labels).evaluate(Ranking(ids, np.zeros(ids.shape)))
    for name, values in zip(judge.figures, judge.judge(ids), strict=True):
        assert values.mean() == pytest.approx(wanted[name])


def test_items_without_a_label_are_passed_over():
    codes = np.array([0, 0, 1, 1, -1, -1, 0, 2])
    judge = ByClass(codes)
    assert judge.rows.tolist() == [0, 1, 2, 3, 6]  # 7 is alone in its class: an answer, but no query
    assert judge.labelled == 6
    ids = rankings(8, judge.rows)
    without = [row[codes[row] >= 0] for row in ids]
    for values, row, found in zip(judge.judge(ids).T, judge.rows, without, strict=True):
        right = codes[found] == codes[row]
        precision = np.cumsum(right) / np.arange(1, len(right) + 1)
        assert values == pytest.approx([precision[right].mean(), float(right[0])])


def test_a_class_is_in_one_fold_and_the_largest_are_apart():
    codes = np.repeat(np.arange(12), [30, 20, 20, 10, 10, 10, 9, 9, 8, 3, 2, 2])
    judge = ByClass(codes)
    assert all(len(set(judge.folds[judge.groups == group])) == 1 for group in range(12))
    assert set(judge.folds) == set(range(5))
    assert len({judge.folds[judge.groups == group][0] for group in range(3)}) == 3  # the largest
    assert len(set(ByClass(np.repeat([0, 1, 2], 4)).folds)) == 3
    assert np.array_equal(ByClass(codes).folds, judge.folds)


def test_of_many_queries_a_sample_is_asked(monkeypatch):
    monkeypatch.setattr(by_class, "MOST_QUERIES", 20)
    codes = np.arange(100) % 10
    first, again = ByClass(codes), ByClass(codes)
    assert len(first.rows) == len(first.groups) == 20
    assert first.labelled == 100
    assert np.array_equal(first.rows, again.rows)
    assert first.judge(rankings(100, first.rows)).shape == (2, 20)


def test_folds_are_dealt_like_cards():
    assert dealt(np.array([3, 1, 0, 2]), 3).tolist() == [2, 1, 0, 0]


def test_the_standard_error_is_that_of_groups():
    values, groups = np.array([0.1, 0.5, 0.9, 0.4, np.nan]), np.arange(5)
    known = values[:4]
    assert mean(values) == pytest.approx(known.mean())
    assert standard_error(values, groups) == pytest.approx(known.std(ddof=1) / 2)
    # Ten copies of a value tell no more than one.
    assert standard_error(np.repeat(known, 10), np.repeat(np.arange(4), 10)) == pytest.approx(
        known.std(ddof=1) / 2
    )
    assert np.isnan(standard_error(values, np.zeros(5)))


def naive_choice(values, folds):
    held_out = np.zeros(values.shape[1])
    for fold in set(folds):
        best = max(range(len(values)), key=lambda c: values[c, folds != fold].mean())
        held_out[folds == fold] = values[best, folds == fold]
    return held_out


def test_each_fold_is_judged_by_the_choice_of_the_others():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(10), 6)
    folds = groups % 5
    values = rng.random((4, 60))
    chosen = choose(values, groups, folds, used=1)
    held_out = naive_choice(values, folds)
    assert chosen.held_out == pytest.approx(held_out.mean())
    assert chosen.lead == pytest.approx((held_out - values[1]).mean())
    assert chosen.error == pytest.approx(standard_error(held_out - values[1], groups))
    assert chosen.winner == values.mean(axis=1).argmax()
    assert chosen.votes.total() == 5
    assert chosen.held_out < values[chosen.winner].mean()  # which was chosen by the same labels


def test_what_is_used_wins_a_tie():
    values = np.full((3, 40), 0.5)
    groups = np.arange(40) % 8
    chosen = choose(values, groups, groups % 5, used=2)
    assert chosen.winner == 2
    assert chosen.votes == {2: 5}


def evidence(lead: float, noise: float, groups: int = 10, each: int = 6):
    rng = np.random.default_rng(0)
    used = np.full(groups * each, 0.5)
    other = used + lead + noise * rng.normal(size=groups)[np.repeat(np.arange(groups), each)]
    places = np.repeat(np.arange(groups), each)
    return choose(np.stack([used, other]), places, places % min(5, groups), used=0)


def test_a_clear_lead_is_enough_and_others_are_doubted():
    assert doubt(evidence(0.1, 0.01), "cas") == ""
    assert "over cas is +2.7 with a standard error of 2.0" in doubt(evidence(0.02, 0.08), "cas")
    assert too_few(evidence(0.1, 0.01), 10, 60, "classes", "items") == ""
    assert too_few(evidence(0.1, 0.01, groups=4), 4, 24, "classes", "items") == "there are only 4 classes"
    assert too_few(evidence(0.1, 0.01, each=2), 10, 20, "classes", "items") == "there are only 20 items"
    alone = choose(np.random.default_rng(0).random((2, 40)), np.zeros(40), np.zeros(40), used=0)
    assert "the pairs are too few, or hang together" in too_few(alone, 1, 40, "groups", "pairs")


def test_folds_that_disagree_are_doubted():
    folds = np.repeat(np.arange(4), 10)
    values = np.zeros((3, 40))
    values[1, folds < 2], values[2, folds >= 2] = 1, 1.01
    chosen = choose(values, np.arange(40), folds, used=0)
    assert chosen.votes[chosen.winner] == 2
    assert doubt(chosen, "cas") == "the folds disagree, 2 of 4 choose it"


# Labels -----------------------------------------------------------------------------------------------------


def view_of(make_index, vectors, keys, metadata=None) -> View:
    index = make_index(name=f"{len(keys)}-{abs(hash(tuple(keys)))}.fold")
    index.add_vectors(vectors[: len(keys)], keys, metadata)
    return View(index.store)


def test_folders_are_labels(make_index, vectors):
    keys = ["a/1", "a/2", "b/c/1", "b/c/2", "b/1", "alone", "/root"]
    assert has_folders(keys)
    assert codes_by(view_of(make_index, vectors, keys), "folders").tolist() == [0, 0, 2, 2, 1, -1, -1]
    for few in (["a/1", "a/2", "b/1"], ["a/1", "a/2"], ["1", "2", "3"], []):
        assert not has_folders(few)
    with pytest.raises(BadInput, match="same folder"):
        codes_by(view_of(make_index, vectors, ["a/1", "a/2"]), "folders")
    with pytest.raises(BadInput, match=r"too few items of .*: 3 of 4 have a folder"):
        codes_by(view_of(make_index, vectors, ["a/1", "a/2", "b/1", "c"]), "folders")


def test_a_field_is_a_label(make_index, vectors):
    keys = [f"k{i}" for i in range(8)]
    values = [1, 1, True, True, "1", None, "", "x"]
    known = {
        key: {"f": value, "same": 3, "own": key, "list": [1]} for key, value in zip(keys, values, strict=True)
    }
    view = view_of(make_index, vectors, keys, known)
    codes = codes_by(view, "f")
    assert codes[0] == codes[1] != codes[2] == codes[3]
    assert codes[4] not in codes[:4]
    assert codes[5:7].tolist() == [-1, -1]
    for field, error, words in (
        ("nobody", UnknownName, "no item of .* has the field 'nobody'; there are f, list, own, same."),
        ("same", BadInput, "the same value of 'same'"),
        ("own", BadInput, "too few items of .*: 8 of 8 have a value of 'own'"),
        ("list", BadInput, "holds lists"),
    ):
        with pytest.raises(error, match=words):
            codes_by(view, field)


# Pairs ------------------------------------------------------------------------------------------------------

KEYS = {f"a{i}": i for i in range(60)}


def some_pairs(count: int = 15, seed: int = 0) -> list[Pair]:
    """Of groups of four keys: two the same, two others different."""
    order = np.random.default_rng(seed).permutation(60).reshape(count, 4)
    same = [Pair(f"a{a}", f"a{b}", True) for a, b, _, _ in order]
    return same + [Pair(f"a{c}", f"a{d}", False) for _, _, c, d in order]


def test_pairs_are_judged_by_the_area_under_the_curve(monkeypatch):
    monkeypatch.setattr(by_pairs, "MOST_FOLDS", 1)
    judge = ByPairs(some_pairs(), KEYS)
    ids = rankings(60, judge.rows)[:, :30]  # cut short: others follow behind the last
    row = {item: place for place, item in enumerate(judge.rows)}

    def rank(one: int, other: int) -> int:
        return [*ids[row[one]].tolist(), other].index(other) + 1

    pairs = [(KEYS[p.one], KEYS[p.other], p.same) for p in some_pairs()]
    places = [rank(one, other) + rank(other, one) for one, other, _ in pairs]
    same = [same for _, _, same in pairs]
    right, near = judge.judge(ids)
    assert right.mean() == pytest.approx(roc_auc_score(same, -np.array(places)))
    partners = [[rank(a, b) <= 10, rank(b, a) <= 10] for a, b, alike in pairs if alike]
    assert mean(near) == pytest.approx(np.mean(partners))


def test_every_fold_has_pairs_of_both_kinds_and_shares_no_picture():
    judge = ByPairs([*some_pairs(), Pair("a0", "a1", True), Pair("a0", "a2", False)], KEYS)
    assert len(set(judge.folds)) == 5
    ends = judge.rows[judge._places]
    for fold in range(5):
        own = judge.folds == fold
        assert judge.same[own].any()
        assert not judge.same[own].all()
        assert not set(ends[own].ravel()) & set(ends[~own].ravel())
    assert not np.isnan(judge.judge(rankings(60, judge.rows))[0]).any()


def test_the_value_of_a_pair_hangs_on_its_own_fold_alone():
    judge = ByPairs(some_pairs(), KEYS)
    ids = rankings(60, judge.rows)
    before = judge.judge(ids)[0]
    own = judge.folds == 0
    items = np.unique(judge._places[own])
    ids[items] = rankings(60, judge.rows, seed=1)[items]
    after = judge.judge(ids)[0]
    assert np.array_equal(before[~own], after[~own])
    assert not np.array_equal(before[own], after[own])


def test_of_many_pairs_a_sample_is_asked(monkeypatch):
    monkeypatch.setattr(by_pairs, "MOST_PAIRS", 12)
    judge = ByPairs(some_pairs(), KEYS)
    assert len(judge.groups) == 12
    assert judge.judge(rankings(60, judge.rows)).shape == (2, 12)


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([Pair("a1", "nobody", True, 3)], "line 3 of the pairs: there is no item 'nobody'"),
        ([Pair("a1", "a1", True, 4)], "line 4 of the pairs: 'a1' is paired with itself"),
        ([Pair("a1", "a2", True, 1), Pair("a2", "a1", False, 2)], "line 2 .* opposite of line 1"),
        ([Pair("a1", "a2", True, 1)], "one marked same and one marked different"),
        ([], "one marked same and one marked different"),
    ],
)
def test_pairs_that_cannot_be_judged_are_refused(pairs, words):
    with pytest.raises(BadInput, match=words):
        ByPairs(pairs, KEYS)


def test_pairs_are_read_from_a_file(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text('a/1.jpg, a/2.jpg ,same\n\n"b,c.jpg",a/1.jpg, Different \n')
    assert read_pairs(path) == [
        Pair("a/1.jpg", "a/2.jpg ", True, 1),
        Pair("b,c.jpg", "a/1.jpg", False, 3),
    ]
    for text, words in (
        ("", "holds no pair"),
        ("key,key,label\n", "line 1: it must read"),
        ("a,b\n", "line 1: it must read"),
        ("a,b,same\na,b,same,more\n", "line 2: it must read"),
        ('"a,b,same\n', "line 1: this is no CSV"),
        (b"\xff\xfe", "not text in UTF-8"),
    ):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(BadInput, match=words):
            read_pairs(path)
    with pytest.raises(MissingData):
        read_pairs(tmp_path / "nowhere.csv")


# Candidates -------------------------------------------------------------------------------------------------


def test_there_are_at_most_ten_usual_candidates_and_what_is_used_is_one():
    for metric, count in (("cosine", 10), ("euclidean", 8)):
        found = usual(metric)
        assert len(found) == count
        assert checked(found, Candidate("cas"), metric) == list(found)
        assert checked(found, Candidate("cas", {"cluster_k": 9}), metric)[-1].name == "cas cluster_k=9"
    assert [each.name for each in usual("cosine")][:4] == [
        "plain",
        "auto",
        "auto effort=low",
        "auto views=raw",
    ]
    with pytest.raises(BadInput, match="trained"):
        checked([Candidate("gradnet")], Candidate("cas"), "cosine")
    assert json.dumps([dict(each.parameters) for each in usual("cosine")])
