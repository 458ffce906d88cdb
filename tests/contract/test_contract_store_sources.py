"""What every store promises of the files that items were read from: noted, listed, followed."""

from __future__ import annotations

from contextlib import closing

import pytest
from store_hooks import KEYS, VECTORS, records

from foldwalk import stores
from foldwalk.core import BadInput, UnknownName, Vectors
from foldwalk.stores import Record, Store

DIGEST = "0123456789abcdef0123456789abcdef"


def photo(key: str, digest: str | None = DIGEST) -> Record:
    return Record(key, None, f"/photos/{key}", 17, 2**60, digest=digest)


def test_sources_are_listed_with_what_is_noted_of_them(store):
    assert list(store.sources()) == []
    store.upsert(Vectors(VECTORS[:2] + 1), [photo("one.jpg"), photo("two.jpg", None)])
    wanted = [
        ("one.jpg", "/photos/one.jpg", 17, 2**60, DIGEST),
        ("two.jpg", "/photos/two.jpg", 17, 2**60, None),
    ]
    assert list(store.sources()) == wanted
    with store.writing() as writer:
        assert writer.known(["one.jpg"])["one.jpg"] == (17, 2**60, "{}", "/photos/one.jpg", DIGEST)


def test_a_digest_that_comes_later_is_noted_without_a_change(store):
    store.upsert(Vectors(VECTORS[:1] + 1), [photo("one.jpg", None)])
    version = store.version()
    assert store.upsert(Vectors(VECTORS[:1] + 1), [photo("one.jpg")]) == (0, 0, 1)
    assert store.version() == version
    assert [source.digest for source in store.sources()] == [DIGEST]


def test_a_renamed_item_stays_what_it_is(store):
    store.upsert(Vectors(VECTORS[:1] + 1), [Record("old.jpg", '{"a": 1}', "/o", 1, 2, b"small")])
    facts, before = store.facts(), store.snapshot()
    vector = store.fetch(["old.jpg"]).vectors
    with store.writing() as writer:
        writer.rename({"old.jpg": photo("new.jpg")})
        writer.rename({})
    after = store.snapshot()
    assert (after.facts.version, after.facts.vectors_version) == (facts.version + 1, facts.vectors_version)
    assert (after.numbers == before.numbers).all()
    assert after.keys == [*KEYS, "new.jpg"]
    assert after.metadata == before.metadata
    assert (store.fetch(["new.jpg"]).vectors == vector).all()
    assert store.thumbnail("new.jpg") == b"small"
    assert list(store.sources()) == [("new.jpg", "/photos/new.jpg", 17, 2**60, DIGEST)]
    assert store.items(["old.jpg"]) == [None]


def test_items_may_take_each_others_keys(store):
    vectors = store.fetch(["a0", "a1", "a2"]).vectors
    with store.writing() as writer:
        writer.rename({"a0": photo("a1"), "a1": photo("a2"), "a2": photo("a0")})
    assert (store.fetch(["a1", "a2", "a0"]).vectors == vectors).all()
    assert store.version() == 2


@pytest.mark.parametrize(
    ("moved", "error", "words"),
    [
        ({"a0": photo("new"), "nobody": photo("newer")}, UnknownName, "nobody"),
        ({"a0": photo("new"), "a1": photo("a2")}, BadInput, "'a2' already"),
        ({"a0": photo("new"), "a1": photo("new")}, BadInput, "twice"),
        ({"a0": photo("")}, BadInput, "empty"),
    ],
)
def test_keys_are_changed_all_or_none(store, moved, error, words):
    with store.writing() as writer, pytest.raises(error, match=words):
        writer.rename(moved)
    assert store.snapshot().keys == KEYS
    assert store.version() == 1


def test_roots_are_noted_by_prefix(store):
    assert store.roots() == {}
    with store.writing() as writer:
        writer.add_root("", "/photos")
        writer.add_root("more/", "/disk/more photos")
        assert writer.facts().version == 3
        writer.add_root("", "/photos")
        assert writer.facts().version == 3
        writer.add_root("", "/elsewhere")
    assert store.roots() == {"": "/elsewhere", "more/": "/disk/more photos"}
    assert (store.version(), store.facts().vectors_version) == (4, 1)


@pytest.mark.parametrize(
    ("prefix", "folder"), [("a\nb", "/photos"), ("a/", ""), (7, "/photos"), ("", "/a\0b")]
)
def test_a_root_that_cannot_be_is_refused(store, prefix, folder):
    with store.writing() as writer, pytest.raises(BadInput):
        writer.add_root(prefix, folder)
    assert store.roots() == {}


def test_many_sources_come_in_parts(store, monkeypatch):
    monkeypatch.setattr("foldwalk.stores.folder.store.AT_A_TIME", 7)
    store.delete(KEYS)
    store.upsert(Vectors(VECTORS), [photo(key) if i % 3 else records([key])[0] for i, key in enumerate(KEYS)])
    assert [source.key for source in store.sources()] == [key for i, key in enumerate(KEYS) if i % 3]


def test_a_backup_is_the_same_or_one_sentence(store, tmp_path):
    with store.writing() as writer:
        writer.add_root("", "/photos")
    if type(store).backup is Store.backup:
        with pytest.raises(BadInput, match="by the means of its database"):
            store.backup(tmp_path / "backup.fold")
        return
    assert store.backup(tmp_path / "backup.fold").items == 60
    with closing(stores.open(tmp_path / "backup.fold")) as copy:
        assert copy.facts() == store.facts()
        assert (copy.snapshot().keys, copy.roots()) == (KEYS, {"": "/photos"})
        assert (copy.fetch(KEYS).vectors == store.fetch(KEYS).vectors).all()
