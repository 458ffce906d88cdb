"""What every store promises. One that is added later is tested here (see tests/contract/store_hooks.py)."""

from __future__ import annotations

import json
from contextlib import suppress

import numpy as np
import pytest
from memory_store import MemoryStore
from store_hooks import KEYS, VECTORS, hook_of, labelled, records

from foldwalk.core import BadInput, MissingData, UnknownName, Vectors
from foldwalk.core.registry import Registry
from foldwalk.index import Index, Key
from foldwalk.stores import Busy, Outdated, Record, Store, registry
from foldwalk.stores.folder import FolderStore
from samples import clustered

# Open and close ---------------------------------------------------------------------------------------------


def test_an_empty_store_has_facts(kind, make, address):
    assert not kind.exists(address)
    with pytest.raises((MissingData, BadInput)):
        kind.open(address)
    store = make("euclidean", "pixels")
    assert kind.exists(address)
    facts = store.facts()
    assert (facts.metric, facts.backbone, facts.dim, facts.identity) == ("euclidean", "pixels", None, None)
    assert (facts.version, facts.vectors_version, facts.next_number) == (0, 0, 0)
    assert facts.format >= 1
    assert facts.uid
    assert store.version() == store.count() == 0
    assert len(store.scan().keys) == len(store.snapshot()) == 0
    assert store.snapshot().vectors().shape == (0, 0)
    assert store.search([[1.0, 2.0]], 3).keys == [[]]
    assert store.verify().problems == ()


def test_what_is_there_is_not_made_again(kind, make, address):
    make()
    with pytest.raises(BadInput, match="exists"):
        kind.create(address, "cosine", None)


def test_an_unknown_metric_makes_nothing(kind, address):
    with pytest.raises(BadInput, match="metric"):
        kind.create(address, "hamming", None)
    assert not kind.exists(address)


def test_a_newer_format_is_refused(kind, store, address):
    store.close()
    make_newer = hook_of(kind).make_newer
    if make_newer is None:
        pytest.skip(f"tests/contract/store_hooks.py does not say how to make a newer {kind.name}")
    make_newer(address)
    with pytest.raises(BadInput, match="newer foldwalk"):
        kind.open(address)


def test_what_was_committed_is_there_after_opening_again(kind, store, address):
    again = kind.open(address)
    assert again.facts() == store.facts()
    assert again.snapshot().keys == KEYS
    assert (again.fetch(KEYS).vectors == store.fetch(KEYS).vectors).all()
    again.close()


# Changes ----------------------------------------------------------------------------------------------------


def test_every_change_makes_the_version_grow(store):
    assert (store.version(), store.facts().vectors_version) == (1, 1)
    store.upsert(Vectors(VECTORS[:1] + 1), records(["new"]))
    assert (store.version(), store.facts().vectors_version) == (2, 2)
    store.upsert(Vectors(VECTORS[:1]), records(["a0"], metadata='{"year": 1}'))  # metadata alone
    assert (store.version(), store.facts().vectors_version) == (3, 2)
    store.delete(["a5"])
    assert (store.version(), store.facts().vectors_version) == (4, 4)
    with store.writing() as writer:
        writer.relabel({"a1": '{"year": 2}'})
        assert writer.facts().version == 5
        writer.relabel({})
    assert (store.version(), store.facts().vectors_version) == (5, 4)
    assert store.item("a1").metadata == {"year": 2}


def test_an_upsert_counts_added_replaced_and_unchanged(store):
    rows = np.stack([VECTORS[0], VECTORS[1] + 1, VECTORS[2] - 1])
    assert store.upsert(Vectors(rows), records(["a0", "a1", "new"])) == (1, 1, 1)
    assert store.count() == 61
    # What was replaced is a new item with a new number; its metadata stay.
    assert store.snapshot().keys == ["a0", *KEYS[2:], "a1", "new"]
    assert store.snapshot().numbers.tolist() == [0, *range(2, 60), 60, 61]
    assert store.facts().next_number == 62
    assert store.item("a1").metadata == {"kind": "y"}
    assert store.upsert(Vectors(rows), records(["a0", "a1", "new"])) == (0, 0, 3)
    assert store.version() == 2


def test_numbers_are_never_given_twice(store):
    store.delete(KEYS)
    assert (store.count(), store.facts().dim) == (0, None)
    store.upsert(Vectors(np.eye(3, dtype=np.float32)), records(["x", "y", "z"]))
    assert store.snapshot().numbers.tolist() == [60, 61, 62]
    assert store.facts().dim == 3


def test_the_identity_of_the_backbone_is_noted(make):
    store = make(backbone="pixels")
    store.upsert(Vectors(VECTORS), records(), identity="pixels 32x32")
    assert store.facts().identity == "pixels 32x32"
    store.upsert(Vectors(VECTORS[:1] + 1), records(["new"]))
    assert store.facts().identity == "pixels 32x32"


@pytest.mark.parametrize(
    ("rows", "keys", "words"),
    [
        (VECTORS[:2], ["new", "new"], "twice"),
        (VECTORS[:2, :7], ["new", "newer"], "7 dimensions, but 8"),
        (VECTORS[:2], ["new"], "2 vectors, but 1 keys"),
        (VECTORS[:2], ["new", ""], "empty"),
        (VECTORS[:2], ["new", 7], "must be text"),
    ],
)
def test_bad_input_changes_nothing(store, rows, keys, words):
    before = store.facts()
    with pytest.raises(BadInput, match=words):
        store.upsert(Vectors(rows), records(keys))
    assert store.facts() == before
    assert store.snapshot().keys == KEYS


def test_a_removal_is_whole_or_not_at_all(store):
    for keys, words in ((["a0", "nobody"], "nobody"), (["a0", "a0"], "twice")):
        with pytest.raises(BadInput, match=words):
            store.delete(keys)
    assert store.delete([]) == 0
    assert (store.count(), store.version()) == (60, 1)
    assert store.delete(["a0", "a3"]) == 2
    assert (store.count(), store.version()) == (58, 2)
    assert "a3" not in store.snapshot().keys


def test_one_writes_and_many_read(kind, store, address):
    other = kind.open(address)
    with store.writing() as writer:
        with pytest.raises(Busy), other.writing():
            pass
        assert writer.upsert(Vectors(VECTORS[:1] + 1), records(["new"])).added == 1
        assert other.version() == store.version() == 2  # committed, though the writer goes on
        assert other.count() == 61
        assert writer.known(["new", "a3", "nobody"]).keys() == {"new", "a3"}
        writer.delete(["new"])
    other.delete(["a0"])
    assert store.count() == 59
    other.close()


def test_what_a_stopped_writer_committed_stays(store):
    def stopped() -> None:
        with store.writing() as writer:
            writer.upsert(Vectors(VECTORS[:1] + 1), records(["new"]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert store.count() == 61
    store.delete(["new"])


def test_compacting_keeps_everything(store):
    store.delete(KEYS[::2])
    before = store.snapshot()
    vectors = before.vectors().copy()
    store.compact()
    after = store.snapshot()
    assert store.gaps() == 0
    assert (after.keys, after.metadata) == (before.keys, before.metadata)
    assert (after.numbers == before.numbers).all()
    assert (after.vectors() == vectors).all()
    assert store.facts().vectors_version == before.facts.vectors_version
    assert store.verify().problems == ()
    assert store.size_in_bytes() >= vectors.nbytes


# Reading ----------------------------------------------------------------------------------------------------


def test_lengths_are_kept_as_the_metric_sees_them(make):
    store = make("euclidean")
    store.upsert(Vectors(3 * VECTORS), records())
    assert (store.fetch(KEYS).vectors == 3 * VECTORS).all()


def test_vectors_are_fetched_in_order_and_missing_ones_marked(store):
    asked = ["a7", "nobody", "a3", "a7", "a59"]
    found = store.fetch(asked)
    assert found.found.tolist() == [True, False, True, True, True]
    assert found.vectors.dtype == np.float32
    assert np.allclose(found.vectors[found.found], VECTORS[[7, 3, 7, 59]], atol=1e-6)
    assert not found.vectors[1].any()
    assert store.fetch([]).vectors.shape == (0, 8)


def test_a_scan_can_be_resumed_at_every_point(store):
    store.delete(["a4", "a59"])
    whole = store.scan()
    assert whole.keys == [key for key in KEYS if key not in ("a4", "a59")]
    assert (np.diff(whole.numbers) > 0).all()
    assert np.allclose(whole.vectors, VECTORS[[int(key[1:]) for key in whole.keys]], atol=1e-6)
    assert [json.loads(text)["kind"] for text in whole.metadata[:3]] == ["x", "y", "x"]
    for after in range(-1, 61):
        part = store.scan(after, batch=7)
        start = int((whole.numbers <= after).sum())
        assert part.keys == whole.keys[start : start + 7]
        assert (part.vectors == whole.vectors[start : start + 7]).all()
        assert (part.numbers == whole.numbers[start : start + 7]).all()
        assert part.metadata == whole.metadata[start : start + 7]
    assert [len(part.keys) for part in store.batches(25)] == [25, 25, 8]
    assert len(store.scan(with_vectors=False).vectors) == 0


def test_a_snapshot_is_one_version(store):
    snapshot = store.snapshot()
    vectors = snapshot.vectors().copy()
    store.upsert(Vectors(VECTORS[:1] + 1), records(["new"]))
    assert (len(snapshot), snapshot.facts.version, snapshot.keys) == (60, 1, KEYS)
    assert (snapshot.vectors() == vectors).all()
    assert np.allclose(vectors, VECTORS, atol=1e-6)
    late = store.snapshot()
    store.delete(["a3"])
    with suppress(Outdated):  # they are read when they are asked for, and may be gone
        assert (late.vectors()[:60] == vectors).all()


def test_vectors_that_are_gone_are_not_made_up():
    store = MemoryStore.create("memory://gone", "cosine", None)
    store.upsert(Vectors(VECTORS), labelled())
    early = store.snapshot()
    store.upsert(Vectors(VECTORS[:1] + 1), records(["new"]))
    assert np.allclose(early.vectors(), VECTORS, atol=1e-6)  # what came later does not matter
    late = store.snapshot()
    store.delete(["a3"])
    with pytest.raises(Outdated, match="ask again"):
        late.vectors()
    store.erase()


def test_items_counted_by_their_metadata(store):
    assert store.count() == store.count({}) == 60
    assert store.count({"kind": "x"}) == 30
    assert store.count({"kind": "x", "year": {"min": 2000}}) == sum(i % 6 == 0 for i in range(10, 60))
    assert store.count({"kind": ["z", None]}) == 0
    with pytest.raises(BadInput, match="where"):
        store.count({"kind": {"least": 3}})


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("where", [None, {"kind": "y"}, {"year": {"max": 1996}}, {"kind": "z"}])
@pytest.mark.parametrize("k", [1, 10, 100])
def test_a_search_is_never_short_and_right(make, metric, where, k, monkeypatch):
    monkeypatch.setattr(Store.batches, "__defaults__", (13, True))  # many passes
    store = make(metric)
    rows = VECTORS.copy()
    rows[[5, 17]], rows[20] = 0, rows[40]
    store.upsert(Vectors(rows), labelled())
    store.delete(["a8"])
    queries = np.concatenate([clustered(n=5, d=8, seed=3)[0], rows[20:21], np.zeros((1, 8), np.float32)])
    found = store.search(queries, k, where)
    kept = [i for i in range(60) if i != 8 and store.count(where) and _fits(i, where)]
    assert len(kept) == store.count(where)
    if metric == "cosine":
        true = queries @ rows[kept].T
    else:
        true = 1 / (1 + np.linalg.norm(queries[:, None] - rows[kept][None], axis=2))
    assert found.similarities.shape == (7, min(k, len(kept)))
    for q in range(7):
        best = sorted(range(len(kept)), key=lambda place, q=q: (-round(float(true[q, place]), 5), place))[:k]
        assert np.allclose(found.similarities[q], true[q, best], atol=1e-5)
        assert found.keys[q] == [f"a{kept[place]}" for place in best]


def _fits(i, where):
    kind, year = "xy"[i % 2], 1990 + i if i % 3 == 0 else None
    if where is None:
        return True
    if "year" in where:
        return year is not None and year <= where["year"]["max"]
    return kind == where["kind"]


def test_a_search_refuses_what_it_cannot_answer(store):
    for queries, k, words in (
        ([[1.0] * 7], 3, "7 dimensions"),
        ([[1.0] * 8], 0, "k must"),
        ([1.0], 3, "2-D"),
    ):
        with pytest.raises(BadInput, match=words):
            store.search(queries, k)
    with pytest.raises(BadInput, match="where"):
        store.search(VECTORS[:1], 3, {"kind": {"least": 3}})


def test_items_have_metadata_source_and_thumbnail(make):
    store = make()
    record = Record("é ☃", '{"tags": ["a", 1, null]}', "/photos/a.jpg", 17, 2**60, b"a small jpeg")
    store.upsert(Vectors(VECTORS[:2]), [record, Record("bare")])
    first, missing, second = store.items(["é ☃", "nobody", "bare"])
    assert missing is None
    assert (first.key, first.metadata, first.source) == ("é ☃", {"tags": ["a", 1, None]}, "/photos/a.jpg")
    assert first.added
    assert (second.metadata, second.source) == ({}, None)
    assert store.item("é ☃") == first
    assert store.thumbnail("é ☃") == b"a small jpeg"
    assert store.thumbnail("bare") is None
    for ask in (store.item, store.thumbnail):
        with pytest.raises(UnknownName, match="nobody"):
            ask("nobody")
    with store.writing() as writer:
        known = writer.known(["é ☃", "bare"])
    assert known["é ☃"] == (17, 2**60, '{"tags": ["a", 1, null]}', "/photos/a.jpg", None)
    assert known["bare"] == (None, None, "{}", None, None)


# The index on top -------------------------------------------------------------------------------------------


def test_an_index_works_on_it(kind, make, address, monkeypatch):
    known = Registry("store", [])
    for each in {FolderStore, MemoryStore, kind}:
        known.register(each)
    monkeypatch.setattr(registry, "_stores", known)
    make().close()
    index, beside = Index.open(address), Index.open(address)
    index.add_vectors(VECTORS, KEYS, {"a3": {"place": "Oslo"}})
    assert beside.refresh()
    assert beside.keys() == KEYS
    assert np.allclose(beside.vectors(), VECTORS, atol=1e-6)
    found = beside.search(Key("a1"), top=59, method="manifold_ranking")
    assert sorted(hit.key for hit in found.hits) == sorted(set(KEYS) - {"a1"})
    assert [hit.key for hit in index.search(VECTORS[1], where={"place": "Oslo"}, method="plain").hits] == [
        "a3"
    ]
    assert index.explain(Key("a1"), "a7", method="plain").rank >= 1
    index.remove(KEYS[:20])
    index.rebuild()
    assert (index.neighbors().ids < 40).all()
    assert index.info().items == 40
    assert index.verify().ok
    assert index.store.groups("graph")
    index.close()
    beside.close()
