"""What is said of a change that failed is true: nothing changed, it is there, or it cannot be told."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing, contextmanager

import pytest

from foldwalk import stores
from foldwalk.core import Vectors
from foldwalk.index import Index
from foldwalk.index.graph.kept import KeptGraph
from foldwalk.stores import CannotWrite, Record
from foldwalk.stores.folder import blocks, outcome, writing
from foldwalk.stores.folder.checksums import seal, teach
from samples import clustered

VECTORS = clustered(n=60, d=8)[0]
NEW = Vectors(VECTORS[:2] + 1), [Record("new"), Record("newer")]


@pytest.fixture
def store(tmp_path):
    with closing(stores.create(tmp_path / "x.fold")) as made:
        made.upsert(Vectors(VECTORS), [Record(f"a{i}") for i in range(60)])
        yield made


def failing(when: str):
    """A transaction whose commit fails: before it, or in what comes after it."""

    @contextmanager
    def transaction(db: sqlite3.Connection):
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("COMMIT" if when == "after" else "ROLLBACK")
        raise sqlite3.OperationalError("disk I/O error")

    return transaction


@pytest.mark.parametrize(
    ("when", "said", "items"), [("before", "nothing changed", 60), ("after", "the change is there", 62)]
)
def test_a_commit_that_fails_is_looked_at(store, monkeypatch, when, said, items):
    with monkeypatch.context() as patch:
        patch.setattr(writing, "transaction", failing(when))
        with pytest.raises(CannotWrite, match=rf"disk I/O error\); {said}"):
            store.upsert(*NEW)
    assert store.count() == items
    with closing(stores.open(store.place)) as again:
        assert again.count() == items
        assert again.verify().problems == ()
        again.upsert(*NEW)
        assert again.count() == 62


def test_what_cannot_be_looked_at_cannot_be_told(store, monkeypatch):
    def refuse(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(writing, "transaction", failing("after"))
        patch.setattr(outcome, "connect", refuse)
        with pytest.raises(CannotWrite, match="cannot be told"):
            store.upsert(*NEW)
    assert store.count() == 62


def test_a_note_that_makes_no_version_cannot_be_told(store, monkeypatch):
    monkeypatch.setattr(writing, "transaction", failing("after"))
    kept = store.fetch(["a0"]).vectors
    with pytest.raises(CannotWrite, match="cannot be told"):
        store.upsert(Vectors(kept), [Record("a0", None, "/photos/a0", 1, 2)])


def test_a_commit_that_was_never_seen_does_not_come_back(store, tmp_path):
    """A commit whose sync failed lies in the log, and readers do not know of it until the log is read anew.

    The same by hand: what the readers share of the log is set back to the moment before the commit.
    """
    place, version = store.catalog.folder, store.version()
    with closing(sqlite3.connect(place / "catalog.db", isolation_level=None)) as db:
        teach(db)
        db.execute("UPDATE items SET mtime = mtime")
        known = (place / "catalog.db-shm").read_bytes()
        db.execute("UPDATE state SET version = version + 1")
        seal(db, "state")
        with open(place / "catalog.db-shm", "r+b") as shared:
            shared.write(known)
        assert store.version() == version
        shutil.copytree(place, tmp_path / "anew", ignore=shutil.ignore_patterns("*-shm"))
        assert outcome.outcome(place, version, version + 1) == "nothing changed"
        shutil.copytree(place, tmp_path / "settled", ignore=shutil.ignore_patterns("*-shm"))
    for name, found in (("anew", version + 1), ("settled", version)):
        with closing(stores.open(tmp_path / name)) as again:
            assert again.version() == found


def test_what_was_committed_before_is_not_denied(store):
    def two_changes() -> None:
        with store.writing() as writer:
            writer.upsert(*NEW)
            raise OSError(5, "Input/output error")

    with pytest.raises(CannotWrite, match="what was committed before it stays"):
        two_changes()
    assert store.count() == 62


def test_no_room_for_vectors_is_no_change(store, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(blocks.os, "fsync", full)
    with pytest.raises(CannotWrite, match="No space left on device; nothing changed"):
        store.upsert(*NEW)
    assert store.count() == 60


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), MemoryError(), ValueError("broken")]
)
def test_a_change_stands_though_the_graph_cannot_be_kept(tmp_path, monkeypatch, error):
    def fail(*_: object, **__: object) -> None:
        raise error

    with Index.create(tmp_path / "x.fold", backbone=None) as index:
        with monkeypatch.context() as patch:
            patch.setattr("zipfile.ZipFile.open", fail)
            assert index.add_vectors(VECTORS, [f"a{i}" for i in range(60)]).added == 60
        if not isinstance(error, ValueError):
            with monkeypatch.context() as patch:
                patch.setattr(KeptGraph, "save", fail)
                assert index.add_vectors(VECTORS[:30] + 1, [f"b{i}" for i in range(30)]).added == 30
        assert index.neighbors().ids.shape[0] == len(index)
