"""What a disk turns over is found by verify, and by the quiet look after opening: no wrong answers then."""

from __future__ import annotations

import json
import sqlite3
import threading
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from foldwalk import stores
from foldwalk.core import FoldwalkError, Vectors
from foldwalk.index import Index, Key
from foldwalk.stores import Damaged, Record
from foldwalk.stores.folder import segments, watch
from samples import clustered

VECTORS = clustered(n=60, d=16)[0]
KEYS = [f"key-of-{i:02d}" for i in range(60)]
JPEG = b"\xff\xd8 a small picture that nobody decodes \xff\xd9"
DIGEST = "0123456789abcdef" * 2


@pytest.fixture
def sound(tmp_path) -> Path:
    """An index with everything in it, and nothing in the catalogue's log."""
    path = tmp_path / "x.fold"
    with closing(stores.create(path, backbone="pixels")) as store, store.writing() as writer:
        records = [
            Record(key, f'{{"note": "about {key}"}}', f"/photos/{key}.jpg", 17, 10**18, JPEG, DIGEST)
            for key in KEYS
        ]
        writer.upsert(Vectors(VECTORS), records, "pixels 4x4")
        writer.add_root("", "/photos/of/mine")
    with closing(sqlite3.connect(path / "catalog.db")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(watch, "DELAY", 0.0)
    monkeypatch.setattr(watch, "REST", 0.0)


def flip(path: Path, place: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)


def answers(path: Path) -> list:
    """All that the index can be asked, after it has looked at itself."""
    with closing(stores.open(path)) as store:
        assert store.catalog.watch.finished.wait(60)
        snapshot = store.snapshot()
        return [
            store.facts(),
            snapshot.keys,
            snapshot.metadata,
            snapshot.vectors().tolist(),
            store.items(KEYS),
            [store.thumbnail(key) for key in KEYS],
            list(store.sources()),
            store.roots(),
            store.fetch(KEYS).vectors.tolist(),
        ]


def verified(path: Path) -> tuple[str, ...]:
    try:
        with closing(stores.open(path)) as store:
            return tuple(p for p in store.verify().problems if "decoded" not in p)
    except FoldwalkError as error:
        return (str(error),)


def places_of(content: bytes, words: bytes) -> list[int]:
    found, place = [], content.find(words)
    while place >= 0:
        found.append(place)
        place = content.find(words, place + 1)
    return found


@pytest.mark.parametrize(
    "words",
    [
        b"key-of-33", b"about key-of-33", b"/photos/key-of-33.jpg", JPEG, DIGEST.encode(), b"000001.f32",
        b"cosine", b"pixels 4x4", b"/photos/of/mine",
    ],
)  # fmt: skip
@pytest.mark.parametrize("bit", [0, 2, 5, 7])
def test_a_flipped_bit_in_the_catalogue_is_found(sound, words, bit):
    """In the tables and in the indices of unique columns."""
    catalog = sound / "catalog.db"
    content = catalog.read_bytes()
    found = places_of(content, words)
    assert found
    for place in found[:4]:
        flip(catalog, place + len(words) // 2, bit)
        assert verified(sound)
        with pytest.raises(FoldwalkError):
            answers(sound)
        catalog.write_bytes(content)
    assert not verified(sound)


def test_no_flipped_bit_gives_a_wrong_answer(sound):
    """Anywhere in the catalogue: it is found, or it does not matter."""
    catalog, rng = sound / "catalog.db", np.random.default_rng(1)
    content, wanted = catalog.read_bytes(), answers(sound)
    refused = 0
    for _ in range(150):
        flip(catalog, int(rng.integers(len(content))), int(rng.integers(8)))
        try:
            found = answers(sound)
        except FoldwalkError:
            refused += 1
            assert verified(sound)
        else:
            assert found == wanted
        catalog.write_bytes(content)
    assert 20 < refused < 150


def test_a_flipped_bit_in_the_vectors_is_found(sound, monkeypatch):
    monkeypatch.setattr(segments, "PIECE", 64 * 10)
    monkeypatch.setattr(segments, "SMALLEST", 64)
    with closing(stores.open(sound)) as store:
        store.upsert(Vectors(VECTORS + 1), [Record(f"more-{i}") for i in range(60)])
    block = sound / "blocks" / "000001.f32"
    rng = np.random.default_rng(2)
    content = block.read_bytes()
    for _ in range(10):
        place = int(rng.integers(len(content)))
        flip(block, place, int(rng.integers(8)))
        (problem, *_) = verified(sound)
        assert "differ from their checksum" in problem
        first, last = int(problem.split()[1]), int(problem.split()[3])
        assert first <= place // 64 <= last
        assert place // 64 < 60 or last - first < 20  # the piece, not all that came with it
        with pytest.raises(Damaged, match=r"foldwalk repair .*x\.fold"):
            answers(sound)
        block.write_bytes(content)
    assert answers(sound)


def test_format_1_is_looked_at_by_the_checksums_it_has(tmp_path):
    with zipfile.ZipFile(Path(__file__).parent / "format-1.zip") as archive:
        archive.extractall(tmp_path)
    old = tmp_path / "format-1.fold"
    flip(old / "blocks" / "000001.f32", 70)
    with closing(stores.open(old)) as store:
        assert store.catalog.watch.finished.wait(60)
        with pytest.raises(Damaged, match="differ from their checksum"):
            store.fetch(["v1"])
        assert store.verify().problems


def test_the_next_call_says_it_and_those_who_mend_go_on(sound, monkeypatch):
    with Index.open(sound) as index:
        assert index.store.catalog.watch.finished.wait(60)
        assert len(index.search(Key(KEYS[0]), top=3, method="plain")) == 3
    monkeypatch.setattr(watch, "DELAY", 3600.0)
    with Index.open(sound) as index:
        flip(sound / "blocks" / "000001.f32", 70)
        monkeypatch.setattr(watch, "DELAY", 0.0)
        index.store.catalog.watch.start()
        assert index.store.catalog.watch.finished.wait(60)
        for call in (
            lambda: index.search(Key(KEYS[0]), method="plain"),
            lambda: index.item(KEYS[0]),
            lambda: index.remove([KEYS[0]]),
            lambda: index.info(),
        ):
            with pytest.raises(Damaged, match=r"vectors 0 to 59 in 000001\.f32 differ.*foldwalk restore"):
                call()
        assert not index.verify().ok
        index.store.forgive()
        assert index.store.count() == 60


def test_a_look_that_has_not_begun_keeps_nobody_waiting(sound, monkeypatch):
    monkeypatch.setattr(watch, "DELAY", 3600.0)
    store = stores.open(sound)
    (looking,) = [thread for thread in threading.enumerate() if thread.name == "foldwalk-watch"]
    assert looking.daemon
    store.close()
    looking.join(60)
    assert not looking.is_alive()
    assert store.catalog.watch.finished.is_set()


def test_damage_is_not_sealed_anew(sound):
    """A change of a damaged item would give it a checksum that fits."""
    with closing(sqlite3.connect(sound / "catalog.db", isolation_level=None)) as db:
        db.execute("UPDATE items SET metadata = '{}' WHERE number = 3")
    with closing(stores.open(sound)) as store:
        store.forgive()
        with store.writing() as writer:
            with pytest.raises(Damaged, match="key-of-03"):
                writer.relabel({KEYS[3]: '{"a": 1}'})
            with pytest.raises(Damaged, match="key-of-03"):
                writer.rename({KEYS[3]: Record("other")})
            writer.delete(KEYS[:2])
            with pytest.raises(Damaged, match="key-of-03"):
                writer.compact()
    assert any("key-of-03" in problem for problem in verified(sound))


def test_verify_says_how_much_it_read(sound, run):
    code, out, _ = run("verify", str(sound), "--json")
    found = json.loads(out)
    assert found["bytes"] > VECTORS.nbytes
    assert found["bytes_per_second"] > 0
    assert code == 1  # the thumbnails are none
