"""The folder store's own: its format and the formats before it, its files of rows, its addresses."""

from __future__ import annotations

import io
import sqlite3
import zipfile
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from foldwalk import stores
from foldwalk.core import BadInput, Vectors
from foldwalk.index import Index
from foldwalk.index.graph.knn import KnnGraph
from foldwalk.neighbors import knn_graph
from foldwalk.stores import Record
from foldwalk.stores.arrays import get_arrays, put_arrays
from foldwalk.stores.folder import FolderStore
from samples import clustered

# Format 1, letter by letter: collections of this form are on people's disks.
FORMAT_1 = """
PRAGMA journal_mode = WAL; PRAGMA user_version = 1;
CREATE TABLE state (
    version INTEGER NOT NULL, vectors_version INTEGER NOT NULL, next_number INTEGER NOT NULL,
    block TEXT NOT NULL, rows INTEGER NOT NULL, dim INTEGER, metric TEXT NOT NULL,
    backbone TEXT, identity TEXT, uid TEXT NOT NULL);
CREATE TABLE items (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, row INTEGER NOT NULL UNIQUE, metadata TEXT NOT NULL,
    source TEXT, size INTEGER, mtime INTEGER, added TEXT NOT NULL);
CREATE TABLE segments (start INTEGER PRIMARY KEY, rows INTEGER NOT NULL, checksum TEXT NOT NULL);
CREATE TABLE thumbnails (number INTEGER PRIMARY KEY, jpeg BLOB NOT NULL);
"""
UID = "0123456789abcdef"


def jpeg() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(buffer, "JPEG")
    return buffer.getvalue()


@pytest.fixture
def old(tmp_path) -> Path:
    """70 vectors in two runs, one of which was removed again, with a graph of the first 70."""
    folder, vectors = tmp_path / "old.fold", clustered(n=70, d=16)[0]
    (folder / "blocks").mkdir(parents=True)
    (folder / "derived").mkdir()
    vectors.tofile(folder / "blocks" / "000001.f32")
    with closing(sqlite3.connect(folder / "catalog.db", isolation_level=None)) as db:
        db.executescript(FORMAT_1)
        state = (3, 3, 70, "000001.f32", 70, 16, "cosine", "pixels", "pixels 4x4", UID)
        db.execute(f"INSERT INTO state VALUES ({', '.join('?' * 10)})", state)
        for number in (n for n in range(70) if n != 5):
            item = (number, f"a{number}", number, '{"year": 1990}' if number == 3 else "{}")
            file = ("/photos/a.jpg", 17, 10**18, "2024-05-01T10:00:00+00:00")
            db.execute(f"INSERT INTO items VALUES ({', '.join('?' * 8)})", (*item, *file))
        for start, end in ((0, 50), (50, 70)):
            digest = blake2b(vectors[start:end].tobytes(), digest_size=16).hexdigest()
            db.execute("INSERT INTO segments VALUES (?, ?, ?)", (start, end - start, digest))
        db.execute("INSERT INTO thumbnails VALUES (3, ?)", (jpeg(),))
    found = knn_graph(Vectors(vectors), 64)
    np.savez(
        folder / "derived" / "graph-2.npz",
        uid=np.array(UID),
        numbers=np.arange(70),
        ids=found.ids,
        similarities=found.similarities,
        touched=np.zeros(70, bool),
    )
    return folder


def test_format_1_opens_as_it_was_written(old, monkeypatch):
    vectors = np.delete(clustered(n=70, d=16)[0], 5, axis=0)
    wanted = knn_graph(Vectors(vectors), 50)
    monkeypatch.setattr(KnnGraph, "build", None)  # the graph is the one on disk, brought up to date
    with Index.open(old) as index:
        assert index.keys() == [f"a{n}" for n in range(70) if n != 5]
        assert (index.vectors() == vectors).all()
        assert (index.version, index.dim, index.metric) == (3, 16, "cosine")
        assert index.info().backbone == "pixels"
        item = index.item("a3")
        assert (item.metadata, item.source) == ({"year": 1990}, "/photos/a.jpg")
        assert item.added == "2024-05-01T10:00:00+00:00"
        assert index.thumbnail("a3") == jpeg()
        assert (index.neighbors().ids == wanted.ids).all()
        assert index.search("a1", top=3, method="plain", where={"year": 1990}).hits[0].key == "a3"
        found = index.verify()
        assert (found.ok, found.items, found.blocks, found.problems) == (True, 69, 2, ())
        facts = index.store.facts()
        assert (facts.format, facts.uid, facts.identity, facts.next_number) == (1, UID, "pixels 4x4", 70)
        index.add_vectors(vectors[:1] + 1, ["new"])
        assert index.store.facts().format == 2
        assert index.verify().ok


def test_what_is_written_has_the_form_that_was_read(old):
    """A graph that is saved is what numpy.load reads, with the names it always had."""
    with Index.open(old) as index:
        index.rebuild()
        wanted = index.neighbors().ids
    (path,) = (old / "derived").glob("graph-*.npz")
    with np.load(path, allow_pickle=False) as file:
        assert sorted(file.files) == ["ids", "numbers", "similarities", "touched", "uid"]
        assert str(file["uid"]) == UID
        assert (file["ids"][:, :50] == wanted).all()
        assert file["ids"].dtype == np.int32
    assert all(info.compress_type == zipfile.ZIP_STORED for info in zipfile.ZipFile(path).infolist())


# Rows -------------------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path):
    with closing(stores.create(tmp_path / "x.fold")) as made:
        yield made


def test_arrays_are_ordinary_ones_when_they_come_back(store):
    arrays = {
        "ids": np.arange(12, dtype=np.int32).reshape(3, 4),
        "columns": np.asfortranarray(np.random.default_rng(0).random((3, 2))),
        "part": np.arange(20)[::3],
        "text": np.array("é"),
        "texts": np.array(["a", "longer"]),
        "nothing": np.zeros((0, 5), np.float32),
        "flags": np.array([True, False]),
    }
    assert put_arrays(store, "graph", 4, arrays)
    found = get_arrays(store, "graph", 4)
    with np.load(Path(store.place) / "derived" / "graph-4.npz") as file:
        assert file.files == list(found) == list(arrays)
        for name, array in arrays.items():
            assert found[name].dtype == file[name].dtype == array.dtype
            assert np.array_equal(found[name], array)
            assert np.array_equal(file[name], array)
    for array in found.values():
        assert array.flags.writeable
        assert array.flags.aligned
        assert array.flags.c_contiguous


@pytest.mark.parametrize("damage", ["cut", "flipped", "no archive", "no array", "objects"])
def test_damaged_rows_count_as_absent(store, damage):
    put_arrays(store, "graph", 4, {"ids": np.arange(1000)})
    path = Path(store.place) / "derived" / "graph-4.npz"
    content = bytearray(path.read_bytes())
    if damage == "cut":
        path.write_bytes(content[:-100])
    elif damage == "flipped":
        content[len(content) // 2] ^= 255
        path.write_bytes(content)
    elif damage == "no archive":
        path.write_bytes(b"PK rubbish")
    elif damage == "no array":
        store.put_rows("graph", 4, {"ids": b"rubbish"})
    else:
        np.savez(path, ids=np.array([{}], object))
    assert get_arrays(store, "graph", 4) is None
    assert (store.get_rows("graph", 4) is None) == (damage in ("cut", "flipped", "no archive"))


def test_no_room_is_no_failure(store, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    assert store.put_rows("graph", 1, {"a": b"old"})
    monkeypatch.setattr(zipfile.ZipFile, "open", full)
    assert not store.put_rows("graph", 1, {"a": b"new"})
    monkeypatch.undo()
    assert store.get_rows("graph", 1) == {"a": b"old"}
    assert [path.name for path in (Path(store.place) / "derived").iterdir()] == ["graph-1.npz"]


# Addresses --------------------------------------------------------------------------------------------------


def test_a_folder_is_found_by_path_and_by_url(tmp_path):
    path = tmp_path / "my photos.fold"
    stores.create(path.as_uri(), metric="euclidean").close()
    for place in (path, str(path), path.as_uri()):
        assert stores.exists(place)
        with closing(stores.open(place)) as store:
            assert isinstance(store, FolderStore)
            assert store.place == str(path)
            assert store.facts().metric == "euclidean"
    assert not stores.exists(tmp_path / "other.fold")


@pytest.mark.parametrize("call", [stores.open, stores.create, stores.exists, Index.open, Index.create])
def test_an_unknown_scheme_is_one_sentence(call):
    with pytest.raises(BadInput, match=r"begin with punchcards://; known are file://"):
        call("punchcards://localhost/photos")


def test_the_card_says_what_it_is():
    card = stores.describe("folder")
    assert (card.name, card.schemes, card.extra) == ("folder", ("file",), None)
    assert "folder" in stores.names()
    with pytest.raises(BadInput, match="did you mean folder"):
        stores.describe("floder")


def test_gaps_are_the_share_of_removed_items(store):
    store.upsert(Vectors(clustered(n=40, d=4)[0]), [Record(f"a{i}") for i in range(40)])
    assert store.gaps() == 0
    store.delete([f"a{i}" for i in range(10)])
    assert store.gaps() == 0.25
    store.compact()
    assert (store.gaps(), store.version()) == (0, 3)
    store.compact()
    assert store.version() == 3
