"""``foldwalk tune``: from the arguments to what is printed and kept."""

from __future__ import annotations

import json

import pytest

from foldwalk.cli.params import parse_variants
from foldwalk.core import BadInput
from foldwalk.index import Index
from foldwalk.rerank.registry import DEFAULT
from samples import clustered

FAST = ("--methods", "plain,aqe k=3")


@pytest.fixture
def collection(tmp_path):
    """x.fold with folders and fields, plain.fold without either."""
    vectors, labels = clustered(n=60, d=8)
    keys = [f"c{label}/{place}.jpg" for place, label in enumerate(labels)]
    known = {key: {"kind": f"k{label}", "one": 1} for key, label in zip(keys, labels, strict=True)}
    with Index.create(tmp_path / "x.fold", backbone=None) as index:
        index.add_vectors(vectors, keys, known)
        index.prefer("aqe", {"k": 30}, "a bad choice")
    with Index.create(tmp_path / "plain.fold", backbone=None) as index:
        index.add_vectors(vectors)
    return tmp_path / "x.fold"


def preferred(path):
    with Index.open(path) as index:
        return index.preferred()


def test_folders_are_the_default_and_the_winner_is_kept(run, collection):
    code, out, err = run("tune", "x.fold", *FAST, "--dry-run")
    assert (code, "nothing was kept" in out) == (0, True)
    assert preferred(collection) == ("aqe", {"k": 30})
    code, out, err = run("tune", "x.fold", *FAST)
    assert code == 0, err
    assert "by folders" in out
    for shown in ("plain", "aqe k=3 (best)", "aqe k=30 (used)", "5 of 5", "x.fold: kept"):
        assert shown in out
    said = " ".join(out.split())  # a caption is as wide as its table
    assert "60 of 60 items are labelled, in 6 groups; 60 were asked, judged over the first 59" in said
    assert preferred(collection) == ("aqe", {"k": 3})
    code, out, _ = run("info", "x.fold")
    assert "preferred: aqe k=3, where a search names no method (tuned by folders: mAP" in out
    _, out, _ = run("info", "x.fold", "--json")
    assert json.loads(out)["preferred"]["parameters"] == {"k": 3}
    _, out, _ = run("search", "x.fold", "c1/1.jpg", "--json")
    assert json.loads(out)["results"][0]["method"] == "aqe"
    _, out, _ = run("explain", "x.fold", "c1/1.jpg", "c1/7.jpg", "--json")
    assert json.loads(out)["method"] == "aqe"
    _, out, _ = run("explain", "x.fold", "c1/1.jpg", "c1/7.jpg", "--method", "plain", "--json")
    assert json.loads(out)["method"] == "plain"


def test_what_was_kept_is_forgotten(run, collection):
    code, out, _ = run("tune", "x.fold", "--forget")
    assert (code, out) == (0, f"x.fold: forgotten; searches use {DEFAULT}\n")
    assert preferred(collection) is None
    code, out, _ = run("tune", "x.fold", "--forget", "--json")
    assert json.loads(out) == {"index": "x.fold", "forgotten": False}
    code, out, _ = run("info", "x.fold", "--json")
    assert json.loads(out)["preferred"] is None


@pytest.mark.usefixtures("collection")
def test_a_field_and_json(run):
    chosen = ("--by", "kind", "--methods", "plain,aqe", "--param", "aqe.k=3")
    code, out, _ = run("tune", "x.fold", *chosen, "--json")
    told = json.loads(out)
    assert code == 0
    assert (told["by"], told["groups"], told["folds"], told["kept"]) == ("kind", 6, 5, True)
    assert [row["name"] for row in told["candidates"]] == ["plain", "aqe k=3", "aqe k=30"]
    assert 0 < told["candidates"][0]["figures"]["mAP"] <= 1
    assert told["sentence"].endswith(".")


@pytest.mark.usefixtures("collection")
def test_the_report_shows_candidates_or_what_is_seen_without_labels(run, tmp_path):
    for index, folder, words in (
        ("x.fold", "out", ("aqe k=30", "used so far", "<circle", "by folders")),
        ("plain.fold", "seen", ("without labels", "<polyline", "w50")),
    ):
        for _ in range(2):  # a page of its own kind may be replaced
            code, _, err = run("tune", index, *FAST, "--dry-run", "--report", folder)
            assert code == 0, err
        page = (tmp_path / folder / "index.html").read_text()
        assert all(word in page for word in words)
        assert "nan" not in page
        assert json.loads((tmp_path / folder / "results.json").read_text())["items"] == 60
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    assert run("tune", "x.fold", "--report", "mine")[0] == 2


@pytest.mark.usefixtures("collection")
def test_without_labels_it_says_what_can_be_seen(run):
    code, out, _ = run("tune", "plain.fold")
    assert code == 0
    for words in ("mutual", "first ten in common", "plain.fold has no labels", "--pairs FILE"):
        assert words in out
    _, out, _ = run("tune", "plain.fold", "--json")
    told = json.loads(out)
    assert told["group_size"] > 0
    assert set(told["agreement"]) == {"w25", "w50"}


def test_pairs(run, collection, tmp_path):
    keys = [f"c{place % 6}/{place}.jpg" for place in range(60)]
    lines = [f"{keys[i]},{keys[i + 6]},same\n{keys[i + 12]},{keys[i + 19]},different\n" for i in (0, 1, 2, 3)]
    (tmp_path / "pairs.csv").write_text("".join(lines))
    code, out, err = run("tune", "x.fold", *FAST, "--pairs", "pairs.csv")
    assert code == 0, err
    assert "AUC" in out
    assert "aqe k=30" in out
    assert preferred(collection) == ("aqe", {"k": 30})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--by", "nobody"), "has the field 'nobody'; there are kind, one"),
        (("--by", "one"), "same value of 'one'"),
        (("--by", "kind", "--pairs", "pairs.csv"), "two kinds of labels"),
        (("--pairs", "nowhere.csv"), "--pairs nowhere.csv does not exist"),
        (("--pairs", "bad.csv"), "line 2: it must read key,key,same"),
        (("--pairs", "unknown.csv"), "line 1 of the pairs: there is no item 'who'"),
        (("--methods", "plain,no_such"), "no method 'no_such'"),
        (("--methods", "aqe k"), "must read name=value"),
        (("--methods", "aqe k=60"), "below the number of gallery items, 60"),
        (("--methods", "gradnet"), "trained"),
        (("--param", "dqe.k=3"), "dqe, which is not run"),
        (("--forget", "--by", "kind"), "--forget goes alone"),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing(run, collection, tmp_path, arguments, words):
    (tmp_path / "bad.csv").write_text("c0/0.jpg,c1/1.jpg,different\nc0/0.jpg,c0/6.jpg,alike\n")
    (tmp_path / "unknown.csv").write_text("who,c0/0.jpg,same\n")
    code, out, err = run("tune", "x.fold", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1
    assert preferred(collection) == ("aqe", {"k": 30})


def test_folders_that_are_not_there_are_no_labels(run, collection):
    code, _, err = run("tune", "plain.fold", "--by", "folders")
    assert (code, "0 of 60 have a folder" in err) == (2, True)
    assert collection.exists()


def test_variants_are_methods_with_parameters():
    assert parse_variants("plain, auto views=raw effort=low", "--methods") == [
        ("plain", {}),
        ("auto", {"views": "raw", "effort": "low"}),
    ]
    with pytest.raises(BadInput, match="names nothing"):
        parse_variants(" ,", "--methods")


def test_a_candidate_that_fails_is_said(run, collection, monkeypatch):
    from foldwalk.rerank.expansion.plain import Plain

    def refuse(_):
        raise BadInput("not today.")

    monkeypatch.setattr(Plain, "_prepare", refuse)
    code, out, err = run("tune", "x.fold", *FAST)
    assert code == 0
    assert "failed" in out
    assert "plain failed: not today." in err
    assert preferred(collection) == ("aqe", {"k": 3})
