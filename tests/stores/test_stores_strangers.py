"""An index that a stranger made: whatever lies in it, no file outside is read, written or removed."""

from __future__ import annotations

import io
import os
import shutil
import sqlite3
import zipfile
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from foldwalk import stores
from foldwalk.core import BadInput, FoldwalkError, Vectors
from foldwalk.core.whole_files import write_whole
from foldwalk.index import Index, Key
from foldwalk.stores import CannotWrite, Damaged, Record
from foldwalk.stores.arrays import get_arrays, put_arrays
from foldwalk.stores.folder.blocks import checksum
from foldwalk.stores.folder.checksums import SEALED, seal, teach
from samples import clustered

VECTORS = clustered(n=60, d=8)[0]
KEYS = [f"a{i}" for i in range(60)]


@pytest.fixture
def evil(tmp_path) -> Path:
    with Index.create(tmp_path / "evil.fold", backbone=None) as index:
        index.add_vectors(VECTORS, KEYS)
        index.neighbors()
    return tmp_path / "evil.fold"


@pytest.fixture
def home(tmp_path) -> Path:
    """What is the user's own."""
    folder = tmp_path / "home"
    (folder / "sub").mkdir(parents=True)
    for name in ("letter.txt", "000001.f32", "000007.f32", "graph-0.npz", "sub/cas-1.npz", "catalog.db"):
        (folder / name).write_bytes(f"dear reader, {name}".encode() * 200)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def everything(place: Path) -> list[FoldwalkError]:
    """Every call there is; what they are refused with."""
    refused: list[FoldwalkError] = []

    def attempt(call) -> None:
        try:
            with Index.open(place) as index:
                call(index)
        except FoldwalkError as error:
            refused.append(error)

    attempt(lambda index: index.search(Key("a1"), top=3, method="plain"))
    attempt(lambda index: index.search(VECTORS[0], top=3, method="cas"))
    attempt(lambda index: index.remove(["nosuchkey"]))
    attempt(lambda index: index.add_vectors(VECTORS[:2] + 1, ["new", "newer"]))
    attempt(lambda index: index.remove(["a1"]))
    attempt(lambda index: index.rebuild())
    attempt(lambda index: index.export(place.parent / "out.npz"))
    attempt(lambda index: index.info())
    attempt(lambda index: index.verify())
    return refused


def replace_by_link(path: Path, target: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.symlink_to(target)


LINKS = ["blocks", "derived", "lock", "catalog.db", "catalog.db-wal", "catalog.db-shm", "blocks/000001.f32"]


@pytest.mark.parametrize("name", LINKS)
def test_no_link_is_followed(evil, home, name):
    before = contents(home)
    target = home if name in ("blocks", "derived") else home / "letter.txt"
    replace_by_link(evil / name, target)
    refused = everything(evil)
    assert contents(home) == before
    if name != "derived":  # what is there can be made again
        assert any("plain file" in str(error) for error in refused)
        assert not any("internal" in str(error) for error in refused)
    else:
        assert [str(error) for error in refused] == ["there is no item 'nosuchkey' in the index."]
    with suppress(OSError, FoldwalkError):
        stores.open(evil).erase()
    assert contents(home) == before


@pytest.mark.parametrize("name", ["derived/fitted", "derived/graph-1.npz", "derived/model"])
def test_no_link_below_derived_is_followed(evil, home, name, monkeypatch):
    monkeypatch.setattr("foldwalk.index.asking.fitted.SAVED_FROM", 0)
    before = contents(home)
    replace_by_link(evil / name, home / "graph-0.npz" if name.endswith("npz") else home)
    assert len(everything(evil)) == 1
    assert contents(home) == before


@pytest.mark.parametrize(
    "name", ["lock", "catalog.db", "catalog.db-wal", "catalog.db-shm", "blocks/000001.f32"]
)
def test_nobody_waits_for_a_pipe(evil, name):
    (evil / name).unlink(missing_ok=True)
    os.mkfifo(evil / name)
    assert any("plain file" in str(error) for error in everything(evil))


@pytest.mark.parametrize("name", ["lock", "catalog.db-wal", "catalog.db-shm", "blocks/000001.f32"])
def test_a_file_with_other_names_is_not_written(evil, home, name):
    (evil / name).touch()
    os.link(evil / name, home / "linked")
    before = contents(home)
    assert any("several names" in str(error) for error in everything(evil))
    assert contents(home) == before


def test_a_journal_that_names_files_elsewhere_is_not_played(evil):
    (evil / "catalog.db-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(1000))
    with pytest.raises(Damaged, match="no part of an index"):
        Index.open(evil)
    assert (evil / "catalog.db-journal").exists()


def test_a_call_that_fails_removes_nothing(evil, run):
    for name in ("000007.f32", "notes.txt"):
        (evil / "blocks" / name).write_bytes(b"mine")
    code, _, said = run("remove", str(evil), "nosuchkey")
    assert (code, "no item" in said) == (2, True)
    assert {"000007.f32", "notes.txt"} <= set(os.listdir(evil / "blocks"))
    with Index.open(evil) as index:
        index.remove(["a1"])
    assert sorted(os.listdir(evil / "blocks")) == ["000001.f32", "notes.txt"]  # only what is ours by name


# The catalogue ----------------------------------------------------------------------------------------------


def sql(evil: Path, *statements: str) -> None:
    """By one who seals what he changes."""
    with closing(sqlite3.connect(evil / "catalog.db", isolation_level=None)) as db:
        teach(db)
        for statement in statements:
            db.execute(statement)
        for table in SEALED:
            with suppress(sqlite3.Error):
                seal(db, table)


@pytest.mark.parametrize("block", ["/etc/hostname", "../../home/letter.txt", "x.f32", "000001.f32/..", "", 7])
def test_a_block_is_named_as_we_name_it(evil, home, block):
    before = contents(home)
    value = f"'{block}'" if isinstance(block, str) else "x'07'"
    sql(evil, f"UPDATE state SET block = {value}")
    refused = everything(evil)
    assert len(refused) >= 8
    assert contents(home) == before


@pytest.mark.parametrize(
    "change",
    [
        "rows = -1", "rows = 10000000000", "rows = 'many'", "dim = -8", "dim = 0", "dim = NULL",
        "dim = 1e300",
        "dim = 4611686018427387904", "version = 'last'", "version = -1", "next_number = x'00'",
        "metric = 'hamming'", "uid = x'00'", "identity = x'ff'", "vectors_version = 0.5",
    ],
)  # fmt: skip
def test_a_state_that_cannot_be_is_one_sentence(evil, change):
    sql(evil, f"UPDATE state SET {change}")
    with pytest.raises((Damaged, BadInput)):
        Index.open(evil)


@pytest.mark.parametrize(
    "statements",
    [
        ("DROP TABLE items",
         "CREATE VIEW items AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
         " SELECT x AS number, 'a' || x AS key, x AS row, '{}' AS metadata FROM n"),
        ("CREATE TRIGGER t AFTER DELETE ON items BEGIN DELETE FROM segments; END",),
        ("CREATE TABLE more (x)",),
        ("CREATE INDEX i ON items (row || key)",),
        ("DROP TABLE thumbnails",),
        ("ALTER TABLE items ADD COLUMN more AS (number + 1)",),
    ],
)  # fmt: skip
def test_tables_are_the_ones_we_make(evil, statements):
    sql(evil, *statements)
    with pytest.raises(BadInput):
        Index.open(evil)


@pytest.mark.parametrize(
    "change",
    [
        "row = 10000", "row = -5", "row = 'x'", "row = 1e300", "key = x'00ff'", "metadata = x'00'",
        "metadata = '[]'", "metadata = '{'", "metadata = '{\"a\": NaN}'", "added = x'00'", "source = x'00'",
        "metadata = '{\"a\": ' || hex(zeroblob(40000)) || '}'", "metadata = hex(zeroblob(40000))",
        "metadata = '{\"a\": ' || replace(hex(zeroblob(15000)), '0', '[') || '}'",
        "metadata = '{\"a\": ' || replace(hex(zeroblob(75)), '0', '[')"
        " || replace(hex(zeroblob(75)), '0', ']') || '}'",
    ],
)  # fmt: skip
def test_an_item_that_cannot_be_is_one_sentence(evil, change):
    sql(evil, f"UPDATE items SET {change} WHERE number = 1")

    def ask() -> None:
        with Index.open(evil) as index:
            index.item("a1")
            index.search(VECTORS[1], top=60, method="plain", where={"x": None})

    with pytest.raises(FoldwalkError):
        ask()


def test_a_thumbnail_that_is_a_number_takes_no_memory(evil):
    sql(evil, "INSERT INTO thumbnails (number, jpeg) VALUES (1, 100000000000)")
    with Index.open(evil) as index, pytest.raises(Damaged, match="no picture"):
        index.thumbnail("a1")


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 3e38])
def test_numbers_that_no_vector_has_reach_no_kernel(evil, number):
    block = evil / "blocks" / "000001.f32"
    rows = np.fromfile(block, np.float32)
    rows[21] = number
    rows.tofile(block)
    shutil.rmtree(evil / "derived")
    (evil / "derived").mkdir()
    sql(evil, f"UPDATE segments SET checksum = '{checksum(rows.reshape(60, 8))}'")
    with Index.open(evil) as index:
        for call in (
            lambda: index.search(Key("a1"), method="plain"),
            lambda: index.search(VECTORS[0], method="cas"),
            lambda: index.store.search(VECTORS[:1], 3),
            lambda: index.store.fetch(["a2"]),
        ):
            with pytest.raises(Damaged, match="numbers"):
                call()
        assert index.store.fetch(["a1"]).found.all()
        assert not index.verify().ok


# What is derived --------------------------------------------------------------------------------------------


def npy(shape: str, content: bytes = b"") -> bytes:
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + content


def archive(compression: int, content: bytes) -> bytearray:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as file:
        file.writestr("ids.npy", content)
    return bytearray(out.getvalue())


def larger_than_it_is() -> bytearray:
    """An archive whose member claims a terabyte, in both heads."""
    content = archive(zipfile.ZIP_STORED, npy("(10,)", bytes(10)))
    size = len(npy("(10,)", bytes(10))).to_bytes(4, "little")
    return content.replace(size + size, b"\xff\xff\xff\x7f" * 2)


@pytest.mark.parametrize(
    "content",
    [
        archive(zipfile.ZIP_DEFLATED, npy("(1000000,)", bytes(1_000_000))),
        larger_than_it_is(),
        archive(zipfile.ZIP_STORED, npy("(100000000000,)")),
        archive(zipfile.ZIP_STORED, npy("(4294967296, 4294967296)")),
        archive(zipfile.ZIP_STORED, npy("(-1,)", bytes(10))),
        archive(zipfile.ZIP_STORED, npy("(" * 50 + "5,", bytes(10))),
        archive(zipfile.ZIP_STORED, b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 4000),
    ],
)
def test_sizes_are_believed_only_as_far_as_the_file_goes(evil, content):
    (evil / "derived" / "graph-9.npz").write_bytes(content)
    with closing(stores.open(evil)) as store:
        assert get_arrays(store, "graph", 9) is None
    assert len(everything(evil)) == 1


def test_names_below_derived_that_are_not_ours_do_not_matter(evil):
    for name in ("Evil-3.npz", "graph-.npz", "graph-3.npz.exe", "fitted/Ä-3.npz", f"graph-{'9' * 90}.npz"):
        (evil / "derived" / name).parent.mkdir(exist_ok=True)
        (evil / "derived" / name).write_bytes(b"mine")
    before = contents(evil / "derived")
    assert len(everything(evil)) == 1
    after = contents(evil / "derived")
    assert {name for name in before if before[name] == b"mine"} <= set(after)


# Rights -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", [0o077, 0o002, 0o027])
def test_the_umask_is_honoured(tmp_path, mask):
    before = os.umask(mask)
    try:
        with closing(stores.create(tmp_path / "x.fold")) as store:
            store.upsert(Vectors(VECTORS), [Record(key) for key in KEYS])
            assert put_arrays(store, "graph", 1, {"a": np.zeros(3)})
            write_whole(tmp_path / "whole.txt", b"whole")
            modes = {path: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    finally:
        os.umask(before)
    assert len([path for path in modes if path.is_file()]) >= 5
    for path, mode in modes.items():
        assert mode == (0o777 if path.is_dir() else 0o666) & ~mask, path


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    calls = []
    sync, move = os.fsync, os.replace
    monkeypatch.setattr(
        os, "fsync", lambda handle: (calls.append(os.path.isdir(f"/proc/self/fd/{handle}")), sync(handle))
    )
    monkeypatch.setattr(os, "replace", lambda *names, **more: (calls.append("replace"), move(*names, **more)))
    write_whole(tmp_path / "whole.txt", b"whole")
    assert calls == [False, "replace", True]


def test_a_disk_that_fails_leaves_no_half_file(tmp_path, monkeypatch):
    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output"):
        write_whole(tmp_path / "whole.txt", b"whole")
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_a_folder_is_one_sentence(evil):
    (evil / "lock").unlink(missing_ok=True)
    (evil / "lock").mkdir()
    with Index.open(evil) as index, pytest.raises((CannotWrite, Damaged)):
        index.remove(["a1"])
