"""From one format to the next: an index that an earlier foldwalk wrote is read, and upgraded by a change."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from foldwalk import stores
from foldwalk.core import UnknownName, Vectors
from foldwalk.index import Index, Key
from foldwalk.stores import Busy, Damaged, Record
from foldwalk.stores.folder import formats, segments, upgrade
from foldwalk.stores.folder.lock import writer_lock

HERE = Path(__file__).parent


@pytest.fixture
def old(tmp_path) -> Path:
    """38 items of format 1, with metadata, thumbnails, a graph and a fitted method."""
    with zipfile.ZipFile(HERE / "format-1.zip") as archive:
        archive.extractall(tmp_path)
    return tmp_path / "format-1.fold"


@pytest.fixture
def expected(old) -> dict:
    return json.loads((old.parent / "expected.json").read_text("utf-8"))


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("-shm", "-wal"))
    }


def tables(folder: Path) -> list[tuple]:
    """The format, and every table as it was made, with white space made equal."""
    with closing(sqlite3.connect(folder / "catalog.db")) as db:
        found = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name").fetchall()
        return [
            db.execute("PRAGMA user_version").fetchone(),
            *((*names, sql and re.sub(r"\s+", " ", sql)) for *names, sql in found),
        ]


def check_contents(index: Index, expected: dict) -> None:
    assert index.keys() == expected["keys"]
    assert np.array_equal(index.vectors()[:2], np.array(expected["vectors"], np.float32))
    assert [hit.key for hit in index.search(Key("p02.png"), top=8, method="cas").hits] == expected["hits"]
    assert index.item("p02.png").metadata == {"kind": "z", "year": 1992}
    assert index.item("v3").metadata == {"note": "é ☃"}
    assert index.item("p03.png").source == "/photos/p03.png"
    assert index.thumbnail("p03.png").startswith(b"\xff\xd8")
    found = index.verify()
    assert found.problems == ()


def test_format_1_is_read_as_it_is(old, expected):
    before = files(old)
    with Index.open(old) as index:
        check_contents(index, expected)
        assert (index.version, index.dim, index.store.facts().format) == (expected["version"], 16, 1)
        assert index.store.roots() == {}
        assert next(index.store.sources()) == ("p00.png", "/photos/p00.png", 1000, 10**18, None)
        with index.store.writing() as writer:
            assert writer.known(["p01.png"])["p01.png"].digest is None
            with pytest.raises(UnknownName):
                writer.delete(["nobody"])
    after = files(old)
    assert after.pop("lock")
    assert after == before


@pytest.mark.parametrize("change", ["add", "relabel", "remove", "rename", "root", "note", "rebuild"])
def test_the_first_change_brings_it_up_to_date(old, expected, tmp_path, change):
    with Index.open(old) as index, Index.open(old) as beside:
        with index.store.writing() as writer:
            if change == "add":
                writer.upsert(Vectors(np.eye(16, dtype=np.float32)[:2]), [Record("new"), Record("newer")])
            elif change == "relabel":
                writer.relabel({"v1": "{}"})
            elif change == "remove":
                writer.delete(["v15"])
            elif change == "rename":
                writer.rename({"v15": Record("new")})
            elif change == "root":
                writer.add_root("", "/photos")
            elif change == "note":
                kept = index.vectors()[:1]
                writer.upsert(Vectors(kept), [Record("p00.png", None, "/photos/p00.png", 5, 6, digest="ab")])
            else:
                writer.compact()
        assert beside.store.facts().format == index.store.facts().format == formats.FORMAT
        assert index.verify().ok
        assert beside.item("p02.png").metadata == {"kind": "z", "year": 1992}
        assert len(list(beside.store.sources())) == 23
    stores.create(tmp_path / "new.fold").close()
    assert tables(old) == tables(tmp_path / "new.fold")
    with Index.open(old) as index:
        assert set(index.keys()) >= set(expected["keys"]) - {"v15"}
        assert index.item("p02.png").metadata == {"kind": "z", "year": 1992}
        assert index.item("p03.png").source == "/photos/p03.png"
        assert index.thumbnail("p03.png").startswith(b"\xff\xd8")


def test_what_changes_nothing_leaves_the_format(old):
    with closing(stores.open(old)) as store:
        kept = store.fetch(["p00.png"]).vectors
        assert store.upsert(Vectors(kept), [Record("p00.png")]) == (0, 0, 1)
        assert store.facts().format == 1


def test_a_format_is_not_changed_under_a_writer(old):
    with writer_lock(old), closing(stores.open(old)) as store:
        assert store.count() == 38
        with pytest.raises(Busy):
            store.delete(["v1"])
        assert store.facts().format == 1


def test_every_older_format_has_its_step():
    assert sorted(upgrade.STEPS) == list(range(1, formats.FORMAT))


def test_damage_is_not_sealed_by_the_upgrade(old):
    with open(old / "blocks" / "000001.f32", "r+b") as file:
        file.seek(100)
        file.write(b"\0\0\0\0")
    with closing(stores.open(old)) as store:
        store.delete(["v1"])
        assert store.facts().format == 2
        assert any("differ from their checksum" in problem for problem in store.verify().problems)
        with pytest.raises(Damaged, match="checksum"):
            store.compact()


KILLED = """
import os, shutil, signal, sys
import numpy as np
from foldwalk import stores
from foldwalk.core import Vectors
from foldwalk.stores import Record
from foldwalk.stores.folder import connecting

def change(folder, deadline):
    statements = 0
    def count(statement):
        nonlocal statements
        statements += 1
        if statements == deadline:
            os.kill(os.getpid(), signal.SIGKILL)
    def teach_and_count(db, teach=connecting.teach):
        teach(db)
        db.set_trace_callback(count)
    store = stores.open(folder)
    connecting.teach = teach_and_count  # from here on: the writer's connection
    store.upsert(Vectors(np.eye(16, dtype=np.float32)[:2]), [Record("new"), Record("newer")])

deadline, killed = 0, True
while killed:
    deadline += 1
    folder = f"{sys.argv[1]}-{deadline}"
    shutil.copytree(sys.argv[1], folder)
    child = os.fork()
    if child == 0:
        change(folder, deadline)
        os._exit(0)
    killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
print(deadline)
"""


def test_killed_at_any_statement_it_is_of_one_format_or_the_other(old, expected):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(old)], check=True, capture_output=True, text=True, timeout=300
    )
    statements = int(done.stdout)
    assert statements > 15
    formats_seen = []
    for deadline in range(1, statements + 1):
        with closing(stores.open(f"{old}-{deadline}")) as store:
            new = store.facts().format == 2
            formats_seen.append(new)
            assert store.snapshot().keys == expected["keys"] + (["new", "newer"] if new else [])
            assert store.version() == expected["version"] + new
            assert store.verify().problems == ()
            store.upsert(Vectors(np.eye(16, dtype=np.float32)[2:3]), [Record("last")])
            assert store.verify().problems == ()
    assert formats_seen == sorted(formats_seen)
    assert formats_seen[0] is False
    assert formats_seen[-1] is True


def test_vectors_are_checksummed_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(segments, "PIECE", 10 * 64)
    monkeypatch.setattr(segments, "SMALLEST", 5 * 64)
    rows = np.random.default_rng(0).normal(size=(60, 16)).astype(np.float32)
    with closing(stores.create(tmp_path / "x.fold")) as store:
        added = 0
        for count in (1, 2, 1, 1, 1, 3, 35, 4, 4, 8):
            keys = [Record(f"a{added + i}") for i in range(count)]
            store.upsert(Vectors(rows[added : added + count]), keys)
            added += count
        with store.catalog.reading() as db:
            runs = db.execute("SELECT start, rows FROM segments ORDER BY start").fetchall()
        assert store.verify().problems == ()
    assert runs == [(0, 5), (5, 10), (15, 10), (25, 19), (44, 8), (52, 8)]
