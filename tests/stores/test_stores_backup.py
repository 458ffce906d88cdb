"""A copy of an index: one version of it, whole or not at all, also beside a writer; and the way back."""

from __future__ import annotations

import json
import os
import threading
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from foldwalk import stores
from foldwalk.core import BadInput, FoldwalkError, Vectors
from foldwalk.index import Busy, Damaged, Index, Key
from foldwalk.index.backup import restore
from foldwalk.stores import Record
from foldwalk.stores.folder import backup, verify
from foldwalk.stores.folder.lock import writer_lock
from samples import clustered

VECTORS = clustered(n=60, d=16)[0]
KEYS = [f"a{i}" for i in range(60)]


@pytest.fixture
def place(tmp_path) -> Path:
    with Index.create(tmp_path / "x.fold", backbone=None) as index:
        index.add_vectors(VECTORS, KEYS, {"a3": {"note": "é"}})
        index.remove(["a5"])
    return tmp_path / "x.fold"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_backup_is_an_index_itself(place, tmp_path):
    with Index.open(place) as index:
        made = index.backup(tmp_path / "copy.fold")
        assert (made.path, made.items) == (str(tmp_path / "copy.fold"), 59)
        assert made.bytes > VECTORS.nbytes - 64
        wanted = index.search(Key("a3"), top=5)
        with Index.open(tmp_path / "copy.fold") as copy:
            assert copy.keys() == index.keys()
            assert (copy.vectors() == index.vectors()).all()
            assert copy.version == index.version
            assert copy.item("a3").metadata == {"note": "é"}
            assert [hit.key for hit in copy.search(Key("a3"), top=5).hits] == [hit.key for hit in wanted.hits]
            assert copy.store.groups("graph") == index.store.groups("graph")
            assert copy.verify().ok
            copy.remove(["a3"])
        assert "a3" in index
    assert sorted(os.listdir(tmp_path)) == ["copy.fold", "x.fold"]


def test_beside_a_writer_it_is_one_version(place, tmp_path):
    history = {}
    with closing(stores.open(place)) as store:
        history[store.version()] = store.snapshot().keys
    stop, failed = threading.Event(), []

    def write() -> None:
        rng, step = np.random.default_rng(0), 0
        try:
            with closing(stores.open(place)) as store:
                while not stop.is_set():
                    step += 1
                    keys = [f"b{step}-{i}" for i in range(int(rng.integers(1, 40)))]
                    rows = rng.normal(size=(len(keys), 16)).astype(np.float32)
                    store.upsert(Vectors(rows), [Record(key) for key in keys])
                    history[store.version()] = store.snapshot().keys
                    store.delete(store.snapshot().keys[:: int(rng.integers(2, 9))])
                    history[store.version()] = store.snapshot().keys
                    store.compact()
                    history[store.version()] = store.snapshot().keys
        except Exception as error:
            failed.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        versions = []
        for number in range(12):
            with closing(stores.open(place)) as store:
                assert store.backup(tmp_path / f"{number}.fold").problems == ()
    finally:
        stop.set()
        writer.join()
    assert not failed
    for number in range(12):
        with closing(stores.open(tmp_path / f"{number}.fold")) as copy:
            versions.append(copy.version())
            assert copy.snapshot().keys == history[copy.version()]
            assert all(group.version <= copy.version() for group in copy.groups("graph"))
    assert len(set(versions)) > 1


def test_what_was_compacted_meanwhile_is_copied_anew(place, tmp_path, monkeypatch):
    once = iter([True])
    copy_block = backup._copy_block

    def compact_first(index, state, made):
        if next(once, False):
            with closing(stores.open(index)) as store:
                store.compact()
        return copy_block(index, state, made)

    monkeypatch.setattr(backup, "_copy_block", compact_first)
    with closing(stores.open(place)) as store:
        assert store.backup(tmp_path / "copy.fold").problems == ()
        assert store.version() == 3
    with closing(stores.open(tmp_path / "copy.fold")) as copy:
        assert (copy.version(), copy.count()) == (3, 59)
        assert os.listdir(tmp_path / "copy.fold" / "blocks") == ["000002.f32"]


def test_verify_beside_a_rebuild_reports_nothing(place, monkeypatch):
    once, look = iter([True]), verify.steps

    def compact_first(db, index):
        db.execute("SELECT * FROM state").fetchall()  # from here on it sees this version
        if next(once, False):
            with closing(stores.open(index)) as store:
                store.compact()
        return look(db, index)

    monkeypatch.setattr(verify, "steps", compact_first)
    with closing(stores.open(place)) as store:
        assert store.verify().problems == ()
        assert store.version() == 3


def test_what_is_there_is_replaced_only_by_force_and_only_an_index(place, tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "a.jpg").write_bytes(b"mine")
    file = tmp_path / "file.fold"
    file.write_bytes(b"mine")
    mixed = tmp_path / "mixed.fold"
    linked = tmp_path / "linked.fold"
    linked.symlink_to(place)
    with closing(stores.open(place)) as store:
        store.backup(mixed)
        (mixed / "letter.txt").write_bytes(b"mine")
        for target in (folder, file, mixed, linked, place):
            before = contents(tmp_path)
            with pytest.raises(BadInput, match="exists already"):
                store.backup(target)
            if target != place:
                with pytest.raises(BadInput, match="not replaced"):
                    store.backup(target, replace=True)
            assert contents(tmp_path) == before
        store.backup(tmp_path / "copy.fold")
        store.delete(["a1"])
        with writer_lock(tmp_path / "copy.fold"), pytest.raises(Busy):
            store.backup(tmp_path / "copy.fold", replace=True)
        store.backup(tmp_path / "copy.fold", replace=True)
    with closing(stores.open(tmp_path / "copy.fold")) as copy:
        assert copy.count() == 58
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_a_damaged_index_is_not_taken_for_a_backup(place, tmp_path):
    block = place / "blocks" / "000001.f32"
    content = bytearray(block.read_bytes())
    content[70] ^= 1
    block.write_bytes(content)
    with closing(stores.open(place)) as store, pytest.raises(Damaged, match="checksum, and was not copied"):
        store.backup(tmp_path / "copy.fold")
    block.unlink()
    with closing(stores.open(place)) as store, pytest.raises(Damaged, match="missing"):
        store.backup(tmp_path / "copy.fold")
    assert os.listdir(tmp_path) == ["x.fold"]


def test_stopped_anywhere_there_is_no_half_backup(place, tmp_path, monkeypatch):
    class Stopped(BaseException):
        pass

    def stop(*_: object) -> None:
        raise Stopped

    for name in ("_copy_file", "_copy_catalog", "_copy_block", "verify"):
        with monkeypatch.context() as patch, closing(stores.open(place)) as store:
            patch.setattr(backup, name, stop)
            with pytest.raises(Stopped):
                store.backup(tmp_path / "copy.fold")
        assert os.listdir(tmp_path) == ["x.fold"]


def test_the_way_back(place, tmp_path, run):
    code, out, _ = run("backup", str(place), str(tmp_path / "copy"), "--json")
    assert code == 0
    assert json.loads(out)["items"] == 59
    before = contents(tmp_path / "copy")
    (place / "catalog.db").write_bytes(b"rubbish" * 1000)
    code, _, said = run("restore", str(tmp_path / "copy"), str(place))
    assert (code, "exists already" in said) == (2, True)
    code, out, _ = run("restore", str(tmp_path / "copy"), str(place), "--force")
    assert code == 0
    assert "59 items restored and checked" in out
    assert contents(tmp_path / "copy").items() >= before.items()
    with Index.open(place) as index:
        assert len(index) == 59
        assert index.verify().ok
    assert restore(tmp_path / "copy", tmp_path / "other.fold").items == 59
    with pytest.raises(FoldwalkError, match="does not exist"):
        restore(tmp_path / "nothing", tmp_path / "more.fold")


def test_an_older_format_is_copied_as_it_is(tmp_path):
    with zipfile.ZipFile(Path(__file__).parent / "format-1.zip") as archive:
        archive.extractall(tmp_path)
    with closing(stores.open(tmp_path / "format-1.fold")) as store:
        store.backup(tmp_path / "copy.fold")
    with closing(stores.open(tmp_path / "copy.fold")) as copy:
        assert (copy.facts().format, copy.count(), len(copy.groups("fitted"))) == (1, 38, 1)
