"""What is added is there, what is removed is gone, and every change counts as one."""

from __future__ import annotations

import time

import numpy as np
import pytest

from foldwalk.core import BadInput, UnknownName
from foldwalk.index import Index
from foldwalk.index.view import View


def test_an_empty_index_has_no_dimension(make_index):
    index = make_index()
    assert (len(index), index.dim, index.version, index.keys()) == (0, None, 0, [])
    assert index.vectors().shape == (0, 0)
    assert index.neighbors().ids.shape == (0, 0)
    assert index.verify().ok
    assert index.info().items == 0
    with pytest.raises(BadInput, match="is empty"):
        index.search(np.ones(3))


def test_vectors_come_back_in_order_and_at_length_one(index, vectors):
    assert index.keys() == [f"a{i}" for i in range(120)]
    assert np.allclose(index.vectors(), vectors, atol=1e-6)
    assert index.vectors().dtype == np.float32
    assert not index.vectors().flags.writeable
    assert (index.vector("a7") == index.vectors()[7]).all()
    assert "a7" in index
    assert "b7" not in index
    index.add_vectors(3 * vectors[:2] + 1, ["b0", "b1"])
    assert np.allclose(np.linalg.norm(index.vectors(), axis=1), 1, atol=1e-5)


def test_the_euclidean_metric_keeps_lengths(make_index, vectors):
    index = make_index(5 * vectors, metric="euclidean")
    assert (index.vectors() == (5 * vectors).astype(np.float32)).all()
    assert index.search(5 * vectors[3], top=1, method="plain").hits[0].key == "a3"


def test_adding_counts_added_replaced_and_unchanged(index, vectors):
    report = index.add_vectors(np.stack([vectors[0], vectors[1] + 1, vectors[2] - 1]), ["a0", "a1", "new"])
    assert (report.added, report.replaced, report.unchanged) == (1, 1, 1)
    assert index.version == 2
    assert len(index) == 121
    # What was replaced is a new item: it stands where new items stand.
    assert index.keys() == ["a0", *(f"a{i}" for i in range(2, 120)), "a1", "new"]
    wanted = (vectors[1] + 1) / np.linalg.norm(vectors[1] + 1)
    assert np.allclose(index.vector("a1"), wanted, atol=1e-6)


def test_adding_the_same_again_changes_nothing(index, vectors):
    report = index.add_vectors(vectors, index.keys())
    assert (report.added, report.replaced, report.unchanged) == (0, 0, 120)
    assert index.version == 1


def test_vectors_without_keys_are_numbered(make_index, vectors):
    index = make_index()
    index.add_vectors(vectors[:3])
    index.add_vectors(vectors[3:5])
    assert index.keys() == ["0", "1", "2", "3", "4"]
    index.remove(["4"])
    index.add_vectors(vectors[5:6])
    assert index.keys() == ["0", "1", "2", "3", "5"]
    index.add_vectors(vectors[6:7], ["7"])
    with pytest.raises(BadInput, match="'7'"):
        index.add_vectors(vectors[7:9])


def test_metadata_is_kept_until_it_is_replaced(index, vectors):
    index.add_vectors(vectors[:2], ["a0", "a1"], {"a0": {"year": 1990}})
    assert index.version == 2
    assert index.item("a0").metadata == {"year": 1990}
    assert index.item("a1").metadata == {}
    index.add_vectors(vectors[:1] + 1, ["a0"])
    assert index.item("a0").metadata == {"year": 1990}
    report = index.add_vectors(index.vector("a0")[None], ["a0"], {"a0": {"year": 1991}})
    assert report.replaced == 1
    assert index.item("a0").metadata == {"year": 1991}


def test_metadata_alone_leaves_graph_and_fitted_methods_alone(index, vectors):
    fitted = index.fitted("cas")
    index.add_vectors(vectors[:1], ["a0"], {"a0": {"year": 1990}})
    assert index.version == 2
    assert index.fitted("cas") is fitted


def test_removed_items_leave_no_hole(index, vectors):
    gone = ["a0", "a50", "a119"]
    assert index.remove(gone) == 3
    stays = [i for i in range(120) if f"a{i}" not in gone]
    assert index.keys() == [f"a{i}" for i in stays]
    assert np.allclose(index.vectors(), vectors[stays], atol=1e-6)
    assert index.neighbors().ids.max() < 117
    assert index.thumbnail("a1") is None
    for ask in (index.item, index.vector, index.thumbnail):
        with pytest.raises(UnknownName, match="a50"):
            ask("a50")


def test_an_index_that_is_empty_again_takes_another_dimension(index):
    index.remove(index.keys())
    assert (len(index), index.dim) == (0, None)
    index.add_vectors(np.eye(3), ["x", "y", "z"])
    assert index.dim == 3
    assert index.search(np.array([1, 0.1, 0]), top=1, method="plain").hits[0].key == "x"
    assert index.verify().ok


def test_a_rebuild_closes_gaps_and_keeps_everything_else(index):
    index.remove([f"a{i}" for i in range(0, 120, 2)])
    keys, stored, found = index.keys(), index.vectors().copy(), index.search("a1").hits
    index.rebuild()
    assert index.keys() == keys
    assert (index.vectors() == stored).all()
    assert index.search("a1").hits == found
    assert [path.name for path in (index.path / "blocks").iterdir()] == ["000002.f32"]
    assert (index.path / "blocks" / "000002.f32").stat().st_size == stored.nbytes
    assert index.verify().ok
    version = index.version
    index.rebuild()
    assert index.version == version


def test_what_was_committed_is_there_after_reopening(index):
    index.add_vectors(np.ones((1, 16)), ["one"], {"one": {"tags": ["a", "b"]}})
    index.remove(["a3"])
    with Index.open(index.path) as again:
        assert again.version == index.version == 3
        assert again.keys() == index.keys()
        assert (again.vectors() == index.vectors()).all()
        assert again.item("one") == index.item("one")
        assert (again.neighbors().ids == index.neighbors().ids).all()


def test_readers_see_a_change_when_they_refresh(index, vectors):
    with Index.open(index.path) as reader:
        before = reader.vectors()
        index.add_vectors(vectors[:1] - 2, ["new"])
        index.remove(["a0"])
        assert (reader.version, len(reader)) == (1, 120)
        assert np.allclose(before, vectors, atol=1e-6)
        assert reader.refresh()
        assert not reader.refresh()
        assert reader.keys() == index.keys()
        index.remove(["a1"])
        assert "a1" not in [hit.key for hit in reader.search(vectors[1], top=118).hits]
        assert reader.version == 4


def test_an_old_reader_keeps_its_vectors_through_a_rebuild(index, vectors):
    with Index.open(index.path) as reader:
        index.remove(["a0"])
        index.rebuild()
        assert np.allclose(reader.vectors(), vectors, atol=1e-6)
        assert reader.refresh()
        assert np.allclose(reader.vectors(), vectors[1:], atol=1e-6)


@pytest.mark.parametrize(
    ("array", "keys", "metadata", "words"),
    [
        (np.ones((2, 16)), ["x", "x"], None, "twice"),
        (np.ones((1, 15)), ["x"], None, "15 dimensions, but 16"),
        (np.full((1, 16), np.nan), ["x"], None, "nan"),
        (np.ones((2, 16)), ["x"], None, "2 vectors, but 1 keys"),
        (np.ones((1, 16)), [""], None, "empty"),
        (np.ones((1, 16)), ["a\nb"], None, "control"),
        (np.ones((1, 16)), ["k" * 1025], None, "longer than 1024"),
        (np.ones((1, 16)), [7], None, "must be text"),
        (np.ones((1, 16)), "x", None, "list of keys"),
        (np.ones((1, 16)), ["\ud800"], None, "Unicode"),
        (np.ones((1, 16)), ["x"], {"y": {}}, "'y'"),
        (np.ones((1, 16)), ["x"], {"x": {"a": object()}}, "JSON"),
        (np.ones((1, 16)), ["x"], {"x": {"a": float("nan")}}, "JSON"),
        (np.ones((1, 16)), ["x"], {"x": [1]}, "dictionary"),
        (np.ones((1, 16)), ["x"], {"x": {1: 2}}, "text"),
        (np.ones((1, 16)), ["x"], {"x": {"a": "b" * 70_000}}, "longer than"),
        (np.ones((1, 16)), ["x"], [1], "dictionary"),
        (np.ones(16), ["x"], None, "2-D"),
        (np.zeros((0, 16)), [], None, "empty"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(index, array, keys, metadata, words):
    with pytest.raises(BadInput, match=words) as caught:
        index.add_vectors(array, keys, metadata)
    assert str(caught.value).count("\n") == 0
    assert (len(index), index.version) == (120, 1)
    assert (index.path / "blocks" / "000001.f32").stat().st_size == 120 * 16 * 4


def test_removing_an_unknown_key_or_one_twice_changes_nothing(index):
    for keys, words in ((["a0", "nobody"], "nobody"), (["a0", "a0"], "twice")):
        with pytest.raises(BadInput, match=words):
            index.remove(keys)
    assert (len(index), index.version) == (120, 1)
    assert index.remove([]) == 0


def test_zero_vectors_are_accepted_and_come_last(index):
    index.add_vectors(np.zeros((1, 16)), ["zero"])
    found = index.search("a0", top=120, method="plain").hits
    assert found[-1].key == "zero"
    assert index.verify().ok
    assert index.neighbors().ids[-1].max() == -1


def test_seconds_include_the_graph(make_index, vectors, monkeypatch):
    index, build = make_index(), View.graph

    def slowly(view):
        time.sleep(0.2)
        return build(view)

    monkeypatch.setattr(View, "graph", slowly)
    assert index.add_vectors(vectors).seconds >= 0.2
