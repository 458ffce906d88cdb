"""What is on disk: refused when it is no index, checked by verify, safe when a writer stops anywhere."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from foldwalk.core import BadInput, FoldwalkError, MissingData
from foldwalk.index import Busy, CannotWrite, Damaged, Index
from foldwalk.stores.folder import blocks, rows, writing
from foldwalk.stores.folder.checksums import SEALED, seal, teach
from foldwalk.stores.folder.formats import FORMAT
from foldwalk.stores.folder.lock import writer_lock


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file that counts. SQLite's shared memory holds marks of readers, no data."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith("-shm")
    }


# Open and create --------------------------------------------------------------------------------------------


def test_an_existing_folder_is_not_overwritten(index, tmp_path):
    for path in (index.path, tmp_path):
        with pytest.raises(BadInput, match="exists already"):
            Index.create(path)
    with pytest.raises(MissingData, match="create it first"):
        Index.create(tmp_path / "no" / "x.fold")
    with pytest.raises(BadInput, match="metric"):
        Index.create(tmp_path / "y.fold", metric="hamming")
    with pytest.raises(BadInput, match="backbone"):
        Index.create(tmp_path / "y.fold", backbone="resnet1")
    assert not list(tmp_path.glob("*y.fold*"))


def test_what_is_no_index_is_not_opened(tmp_path):
    with pytest.raises(MissingData, match="does not exist"):
        Index.open(tmp_path / "nothing.fold")
    with pytest.raises(BadInput, match="not an index"):
        Index.open(tmp_path)
    (tmp_path / "catalog.db").write_text("no catalogue at all, but long enough to be looked at" * 100)
    with pytest.raises(Damaged, match=r"catalog\.db"):
        Index.open(tmp_path)
    (tmp_path / "catalog.db").unlink()
    sqlite3.connect(tmp_path / "catalog.db").close()
    with pytest.raises(BadInput, match="not the catalogue"):
        Index.open(tmp_path)


def test_a_newer_format_is_refused(index):
    index.close()
    db = sqlite3.connect(index.path / "catalog.db")
    db.execute(f"PRAGMA user_version = {FORMAT + 1}")
    db.close()
    with pytest.raises(BadInput, match="newer foldwalk"):
        Index.open(index.path)


def test_a_second_writer_is_told_who_the_first_is(index, vectors):
    with writer_lock(index.path):
        with pytest.raises(Busy, match=f"process {os.getpid()}"):
            index.add_vectors(vectors[:1] + 1, ["new"])
        with pytest.raises(Busy):
            index.remove(["a0"])
        assert len(index.search("a0", method="plain").hits) == 10
    index.remove(["a0"])
    assert len(index) == 119


# Stopped in the middle --------------------------------------------------------------------------------------


class Stopped(BaseException):
    """Nothing may catch it, as nothing catches a kill."""


def stop(*_: object, **__: object) -> None:
    raise Stopped


@pytest.mark.parametrize("where", ["append", "insert", "state", "half"])
def test_stopped_before_the_commit_nothing_has_happened(index, vectors, monkeypatch, where):
    before = index.keys()
    with monkeypatch.context() as patch:
        if where == "append":
            patch.setattr(writing, "append", stop)
        elif where == "insert":
            patch.setattr(writing, "insert", stop)
        elif where == "state":
            patch.setattr(writing.State, "write", stop)
        else:
            patch.setattr(blocks, "ROWS_AT_A_TIME", 2)
            patch.setattr(blocks.os, "fsync", stop)
        with pytest.raises(Stopped):
            index.add_vectors(vectors[:5] + 1, [f"b{i}" for i in range(5)])
    with Index.open(index.path) as again:
        assert again.keys() == before
        assert again.verify().ok
        size = (index.path / "blocks" / "000001.f32").stat().st_size
        assert (size > 120 * 64) == (where != "append")
        again.add_vectors(vectors[:1] - 1, ["c"])
        assert (index.path / "blocks" / "000001.f32").stat().st_size == 121 * 64
        assert again.verify().ok


def test_stopped_before_the_graph_is_updated_the_next_one_does_it(index, vectors, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("foldwalk.index.view.KnnGraph.current", stop)
        with pytest.raises(Stopped):
            index.add_vectors(vectors[:5] + 1, [f"b{i}" for i in range(5)])
    with Index.open(index.path) as again:
        assert len(again) == 125
        assert len(again.neighbors()) == 125
        assert again.verify().ok


def test_stopped_during_a_rebuild_the_old_file_counts(index, monkeypatch):
    index.remove(["a3"])
    before = index.vectors().copy()
    with monkeypatch.context() as patch:
        patch.setattr(writing.State, "write", stop)
        with pytest.raises(Stopped):
            index.rebuild()
    assert (index.path / "blocks" / "000002.f32").exists()
    with Index.open(index.path) as again:
        assert (again.vectors() == before).all()
        again.remove(["a4"])
        assert not (index.path / "blocks" / "000002.f32").exists()
        assert again.verify().ok


def test_a_kill_leaves_a_log_that_the_next_one_reads(index):
    """The catalogue's log is not yet merged when the process dies; readers find its commits all the same."""
    program = (
        "import os, signal, sys, numpy as np\n"
        "from foldwalk.index import Index\n"
        "index = Index.open(sys.argv[1])\n"
        "index.add_vectors(np.eye(16), [f'b{i}' for i in range(16)])\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    index.close()
    subprocess.run([sys.executable, "-c", program, str(index.path)], check=False, timeout=120)
    with Index.open(index.path) as again:
        assert len(again) == 136
        assert again.verify().ok


def test_a_full_disk_is_one_sentence_and_no_change(index, vectors, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(blocks.os, "fsync", full)
        with pytest.raises(CannotWrite, match="No space left on device; nothing changed"):
            index.add_vectors(vectors[:5] + 1, [f"b{i}" for i in range(5)])
    assert (len(index), index.version) == (120, 1)
    with monkeypatch.context() as patch:
        patch.setattr(rows.zipfile, "ZipFile", full)
        index.remove(["a0"])  # the graph cannot be saved, which only costs time later
    assert len(index) == 119
    with Index.open(index.path) as again:
        assert (again.neighbors().ids == index.neighbors().ids).all()


def test_a_catalogue_that_cannot_be_written_is_one_sentence(index, vectors, monkeypatch):
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(writing, "insert", full)
    with pytest.raises(CannotWrite, match="disk is full"):
        index.add_vectors(vectors[:5] + 1, [f"b{i}" for i in range(5)])
    assert (len(index), index.version) == (120, 1)


def test_a_folder_that_cannot_be_written_can_be_read(index, monkeypatch):
    index.close()
    before = snapshot(index.path)
    for leftover in index.path.glob("catalog.db-*"):
        leftover.unlink()
    monkeypatch.setattr("foldwalk.stores.folder.catalog.os.access", lambda *_: False)
    with Index.open(index.path) as reader:
        assert len(reader.search("a3", method="plain").hits) == 10
        assert reader.verify().ok
    assert snapshot(index.path).keys() <= before.keys()


# Verify -----------------------------------------------------------------------------------------------------


def test_verify_changes_nothing(index):
    index.remove(["a3"])
    before = snapshot(index.path)
    found = index.verify()
    assert (found.ok, found.items, found.blocks, found.problems) == (True, 119, 1, ())
    assert found.bytes > index.vectors().nbytes
    assert snapshot(index.path) == before


def damage_vector(index: Index) -> None:
    with open(index.path / "blocks" / "000001.f32", "r+b") as file:
        file.seek(4 * 100)
        file.write(np.float32(0.5).tobytes())


def cut_vectors(index: Index) -> None:
    os.truncate(index.path / "blocks" / "000001.f32", 100)


def damage_metadata(index: Index) -> None:
    _sql(index, "UPDATE items SET metadata = '{' WHERE key = 'a3'")


def misplace_item(index: Index) -> None:
    _sql(index, "UPDATE items SET row = 500 WHERE key = 'a3'")


def lose_segment(index: Index) -> None:
    _sql(index, "DELETE FROM segments")


def stray_thumbnail(index: Index) -> None:
    _sql(index, "INSERT INTO thumbnails (number, jpeg) VALUES (999, x'00')")


def broken_thumbnail(index: Index) -> None:
    _sql(index, "INSERT INTO thumbnails (number, jpeg) VALUES (3, x'00')")


def late_number(index: Index) -> None:
    _sql(index, "UPDATE state SET next_number = 50")


def damage_graph(index: Index) -> None:
    path = next((index.path / "derived").glob("graph-*.npz"))
    path.write_bytes(path.read_bytes()[:-500])


def wrong_graph(index: Index) -> None:
    path = next((index.path / "derived").glob("graph-*.npz"))
    with np.load(path) as file:
        arrays = dict(file)
    arrays["similarities"] = arrays["similarities"] + 0.1
    np.savez(path, **arrays)


def missing_neighbours(index: Index) -> None:
    path = next((index.path / "derived").glob("graph-*.npz"))
    with np.load(path) as file:
        arrays = dict(file)
    arrays["ids"] = arrays["ids"].copy()
    arrays["ids"][:, 10:] = -1
    np.savez(path, **arrays)


def _sql(index: Index, statement: str) -> None:
    """A change that a faulty program makes: checksums hold, and what they are over is wrong."""
    db = sqlite3.connect(index.path / "catalog.db", isolation_level=None)
    teach(db)
    db.execute(statement)
    for table in SEALED:
        seal(db, table)
    db.close()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (damage_vector, "differ from their checksum"),
        (cut_vectors, "shorter"),
        (damage_metadata, "not JSON"),
        (misplace_item, "behind the last vector"),
        (lose_segment, "runs end at 0"),
        (stray_thumbnail, "belong to no item"),
        (broken_thumbnail, "'a3' cannot be decoded"),
        (late_number, "never given"),
        (damage_graph, "graph is damaged"),
        (wrong_graph, "similarities in the saved graph"),
        (missing_neighbours, "misses many"),
    ],
)
def test_verify_finds(index, damage, words):
    assert index.verify().ok
    damage(index)
    found = index.verify()
    assert not found.ok
    assert any(words in problem for problem in found.problems)


def test_a_file_that_was_cut_is_not_opened(index):
    index.close()
    cut_vectors(index)
    with pytest.raises(FoldwalkError, match="shorter"):
        Index.open(index.path)


# Info -------------------------------------------------------------------------------------------------------


def test_info_says_when_a_rebuild_is_worth_it(index, vectors):
    fresh = index.info()
    assert (fresh.items, fresh.dim, fresh.metric, fresh.version) == (120, 16, "cosine", 1)
    assert (fresh.drift, fresh.recall, fresh.rebuild_advised) == (0.0, 1.0, False)
    assert fresh.bytes > vectors.nbytes
    index.remove([f"a{i}" for i in range(20)])
    assert index.info().drift > 0
    assert not index.info().rebuild_advised
    index.remove([f"a{i}" for i in range(20, 50)])
    assert index.info().rebuild_advised
    assert "removed items" in index.info().reason
    index.rebuild()
    assert (index.info().drift, index.info().rebuild_advised) == (0.0, False)
    missing_neighbours(index)
    with Index.open(index.path) as again:
        assert again.info().rebuild_advised
        assert "true neighbours" in again.info().reason
