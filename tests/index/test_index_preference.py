"""What a collection prefers: kept with it, used where a search names none, and checked when it is read."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from foldwalk.core import BadInput, BadParameter
from foldwalk.index import CannotWrite, Index
from foldwalk.index.tuning.preference import KIND, ROW, KeptPreference
from foldwalk.rerank.registry import DEFAULT
from foldwalk.stores.arrays import put_arrays

CHOICE = ("cdm", {"k": 7})


def searched(index, **options):
    return [(hit.key, hit.score) for hit in index.search("a3", **options).hits]


def test_a_search_that_names_no_method_uses_it(index):
    usual, other = searched(index, method=DEFAULT), searched(index, method="cdm", parameters={"k": 7})
    assert usual != other
    assert index.preferred() is None
    assert index.method_for() == (DEFAULT, {})
    assert searched(index) == usual
    index.prefer(*CHOICE, reason="a test")
    assert index.preferred() == CHOICE
    assert searched(index) == other
    assert index.search("a3").method == "cdm"
    assert searched(index, method=DEFAULT) == usual
    far = index.search("a3", top=119).hits[60].key
    assert index.explain("a3", far).rank == 61
    assert index.info().preferred.reason == "a test"


def test_parameters_that_are_given_go_before_it(index):
    index.prefer(*CHOICE)
    assert index.method_for(parameters={"k": 3}) == ("cdm", {"k": 3})
    assert index.method_for("aqe", {"k": 3}) == ("aqe", {"k": 3})
    assert searched(index, parameters={"k": 3}) == searched(index, method="cdm", parameters={"k": 3})


def test_another_takes_its_place_and_it_is_forgotten(index):
    for choice in (CHOICE, ("aqe", {}), ("plain", {})):
        index.prefer(*choice)
        assert index.preferred() == choice
        assert len(index.store.groups(KIND)) == 1
    assert index.forget_preferred()
    assert index.preferred() is None
    assert not index.forget_preferred()


def test_it_stays_when_items_come_and_go_and_in_copies(index, tmp_path, vectors):
    index.prefer(*CHOICE)
    index.add_vectors(vectors[:3] + 0.1, ["new0", "new1", "new2"])
    index.remove(["a5"])
    index.rebuild()
    index.backup(tmp_path / "copy.fold")
    index.close()
    for place in ("x.fold", "copy.fold"):
        with Index.open(tmp_path / place) as again:
            assert again.preferred() == CHOICE
    asked = f"from foldwalk import Index; print(Index.open({str(tmp_path / 'copy.fold')!r}).preferred())"
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == str(CHOICE)


GOOD = {"method": "cdm", "parameters": {"k": 7}, "reason": ""}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "[" * 100_000,
        "[" * 2_000 + "]" * 2_000,
        json.dumps({**GOOD, "method": "no_such"}),
        json.dumps({**GOOD, "method": ["cdm"]}),
        json.dumps({**GOOD, "method": None}),
        json.dumps({**GOOD, "method": "gradnet", "parameters": {}}),
        json.dumps({**GOOD, "parameters": {"k": 0}}),
        json.dumps({**GOOD, "parameters": {"k": 90_000}}),
        json.dumps({**GOOD, "parameters": {"k": [7]}}),
        json.dumps({**GOOD, "parameters": {"self": 1}}),
        json.dumps({**GOOD, "parameters": {"no_such": 1}}),
        json.dumps({**GOOD, "parameters": {"metric": "euclidean"}}),
        json.dumps({**GOOD, "parameters": {"seed": -1}}),
        json.dumps({**GOOD, "parameters": ["k"]}),
        json.dumps({**GOOD, "parameters": None}),
        json.dumps({**GOOD, "reason": 3}),
        json.dumps({**GOOD, "more": 3}),
        json.dumps({"method": "cdm"}),
        json.dumps({**GOOD, "reason": "x" * 30_000}),
    ],
)
def test_a_strangers_preference_that_cannot_be_counts_as_absent(index, text):
    for content in (np.array(text), np.array([text]), np.array(text.encode()), np.array(3)):
        assert put_arrays(index.store, KIND, 1, {ROW: content})
        assert index.preferred() is None
    assert index.info().preferred is None
    assert index.method_for() == (DEFAULT, {})
    put_arrays(index.store, KIND, 1, {ROW: np.array(json.dumps(GOOD))})
    assert index.preferred() == CHOICE
    put_arrays(index.store, KIND, 2, {"other": np.array(json.dumps(GOOD))})
    assert index.preferred() is None


def test_a_damaged_file_counts_as_absent(index):
    index.prefer(*CHOICE)
    (path,) = (index.path / "derived").glob(f"{KIND}-*.npz")
    path.write_bytes(path.read_bytes()[:-30])
    assert index.preferred() is None
    index.prefer("aqe")
    assert index.preferred() == ("aqe", {})


@pytest.mark.parametrize(
    ("choice", "error", "words"),
    [
        (("no_such",), BadInput, "no method"),
        (("cdm", {"k": 0}), BadParameter, "k"),
        (("cdm", {"k": 5_000}), BadParameter, "up to 1000"),
        (("cdm", {"metric": "euclidean"}), BadInput, "by cosine"),
        (("gradnet",), BadInput, "trained"),
    ],
)
def test_what_no_search_may_use_by_itself_is_refused(index, choice, error, words):
    with pytest.raises(error, match=words):
        index.prefer(*choice)
    assert index.preferred() is None


def test_where_nothing_can_be_written_it_is_said(index, monkeypatch):
    monkeypatch.setattr(type(index.store), "put_rows", lambda *_: False)
    with pytest.raises(CannotWrite, match="no room or no right"):
        index.prefer("aqe")
    monkeypatch.undo()
    index.prefer("aqe")
    monkeypatch.setattr(type(index.store), "drop_rows", lambda *_: None)
    with pytest.raises(CannotWrite, match="no right to remove"):
        index.forget_preferred()


def test_it_is_for_the_metric_of_the_index(make_index, vectors):
    index = make_index(vectors, metric="euclidean")
    index.prefer("plain", {"metric": "euclidean"})
    assert KeptPreference(index.store, "euclidean").load() is not None
    assert KeptPreference(index.store, "cosine").load() is None
