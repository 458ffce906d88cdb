"""A damaged index: what can be described again is, the rest is told or dropped, and nothing gets worse."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from picture_files import as_of_format_1, draw

from foldwalk.core import BadInput
from foldwalk.index import Damaged, Index
from foldwalk.index.repair import repair
from foldwalk.index.verify import verify
from foldwalk.stores import Busy, Record
from foldwalk.stores.folder import segments
from foldwalk.stores.folder.lock import writer_lock

ROW = 1024 * 4  # bytes of a vector


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for i in range(12):
        draw(tmp_path / "photos" / f"{i:02}.png", i)
    return tmp_path / "photos"


@pytest.fixture
def album(make_index, photos, monkeypatch) -> Path:
    """12 pictures in runs of four, and its vectors as they were."""
    monkeypatch.setattr(segments, "PIECE", 4 * ROW)
    monkeypatch.setattr(segments, "SMALLEST", 1)
    index = make_index(backbone="pixels")
    index.add_images(photos, metadata={f"{i:02}.png": {"number": i} for i in range(12)})
    index.close()
    assert verify(index.path).ok
    return index.path


def contents(path: Path) -> dict[str, tuple]:
    with Index.open(path) as index:
        found = zip(index.keys(), index.vectors().tolist(), strict=True)
        return {key: (vector, index.item(key).metadata, index.thumbnail(key)) for key, vector in found}


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("-shm", "-wal")) and path.name != "lock"
    }


def spoil_vectors(path: Path, row: int, count: int = 1) -> None:
    with open(path / "blocks" / "000001.f32", "r+b") as file:
        file.seek(row * ROW)
        file.write(b"\x01\x02\x03\x04" * (count * ROW // 4))


def execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path / "catalog.db")) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


def numbers(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path / "catalog.db")) as db:
        return dict(db.execute("SELECT key, number FROM items"))


def test_a_sound_index_is_left_alone(album):
    before = files(album)
    done = repair(album)
    assert (done.items, done.kept, done.problems) == (12, None, ())
    assert files(album) == before
    assert sorted(path.name for path in album.parent.iterdir()) == ["photos", "x.fold"]


def test_damaged_vectors_are_described_again(album):
    before, numbered = contents(album), numbers(album)
    spoil_vectors(album, row=5)
    assert not verify(album).ok
    done = repair(album)
    assert done.described == ["04.png", "05.png", "06.png", "07.png"]  # the run that it lies in
    assert (done.left, done.problems, done.items) == ([], (), 12)
    assert verify(album, files=True).ok
    assert contents(album) == before
    kept = {key: number for key, number in numbers(album).items() if key not in done.described}
    assert kept.items() <= numbered.items()
    assert done.kept == f"{album}.damaged"
    assert not verify(done.kept).ok


@pytest.mark.parametrize("size", [0, 3 * ROW, 5 * ROW + 17, None])
def test_a_file_of_vectors_that_is_short_or_missing(album, size):
    before, block = contents(album), album / "blocks" / "000001.f32"
    if size is None:
        block.unlink()
    else:
        block.write_bytes(block.read_bytes()[:size])
    done = repair(album)
    assert len(done.described) == (8 if size == 5 * ROW + 17 else 12)
    assert done.problems == ()
    assert contents(album) == before
    assert verify(album).ok


def test_what_has_no_file_is_left_and_then_dropped(album, photos):
    before = contents(album)
    with Index.open(album) as index:
        index.add_vectors(np.eye(1, 1024), ["of no file"])
    spoil_vectors(album, row=5)
    spoil_vectors(album, row=12)
    (photos / "06.png").unlink()
    done = repair(album)
    assert done.described == ["04.png", "05.png", "07.png"]
    assert [bad.path for bad in done.left] == ["06.png", "of no file"]
    assert "06.png cannot be read" in done.left[0].reason
    assert "without a file" in done.left[1].reason
    assert done.items == 13
    found = contents(album)
    assert {key: found[key] for key in before if key != "06.png"} == {
        key: value for key, value in before.items() if key != "06.png"
    }
    assert done.problems == verify(album).problems != ()
    again = repair(album)  # nothing more can be done
    assert (again.described, again.kept, len(again.left)) == ([], None, 2)
    done = repair(album, drop=True)
    assert (done.dropped, done.left, done.items) == (["06.png", "of no file"], [], 11)
    assert done.kept == f"{album}.damaged-2"
    assert verify(album).ok


def test_damaged_rows_of_the_catalogue(album, photos):
    before = contents(album)
    execute(
        album,
        "UPDATE items SET metadata = '{\"number\": 99}' WHERE key = '03.png'",
        "UPDATE items SET row = 77 WHERE key = '04.png'",
        "UPDATE items SET metadata = '{bad' WHERE key = '05.png'",
        f"UPDATE items SET source = '{photos / '01.png'}' WHERE key = '08.png'",
    )
    done = repair(album)
    assert done.described == ["03.png", "04.png", "05.png"]
    assert [bad.path for bad in done.left] == ["08.png"]
    assert done.notes == ["the metadata of 05.png are lost"]
    assert "may be another" in done.left[0].reason
    done = repair(album, drop=True)
    assert done.dropped == ["08.png"]
    assert verify(album).ok
    found = contents(album)
    assert found["04.png"] == before["04.png"]
    assert found["05.png"][0] == before["05.png"][0]
    assert found["05.png"][1] == {}


def test_damaged_thumbnails(album, photos):
    before, numbered = contents(album), numbers(album)
    first, second = numbered["01.png"], numbered["02.png"]
    execute(album, f"UPDATE thumbnails SET jpeg = x'00' WHERE number IN ({first}, {second})")
    (photos / "02.png").unlink()
    done = repair(album)
    assert (done.described, done.thumbnails) == ([], ["01.png"])
    assert [bad.path for bad in done.left] == ["02.png"]
    assert contents(album)["01.png"] == before["01.png"]
    done = repair(album, drop=True)
    assert (done.dropped, done.items) == ([], 12)  # the picture is gone, but its vector is sound
    assert contents(album)["02.png"] == (*before["02.png"][:2], None)
    assert numbers(album) == numbered
    assert verify(album).ok


def test_what_no_item_needs_is_put_right(album, photos):
    before = contents(album)
    execute(
        album,
        "UPDATE roots SET folder = '/nowhere'",
        "INSERT INTO thumbnails VALUES (4711, x'00', 0)",
    )
    assert len(verify(album).problems) >= 2
    assert repair(album).problems == ()
    assert contents(album) == before
    with Index.open(album) as index:
        assert index.roots() == {}
        assert index.add_images(photos).unchanged == 12


def test_a_damaged_graph_is_made_again(album):
    for path in (album / "derived").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-40])
    assert not verify(album).ok
    assert repair(album).problems == ()
    assert verify(album).ok


def test_one_of_an_older_format(album):
    before = contents(album)
    as_of_format_1(album)
    spoil_vectors(album, row=1)
    done = repair(album)
    assert len(done.described) == 4
    assert contents(album) == before


def test_a_catalogue_that_cannot_be_read(album, run):
    execute(album, "UPDATE state SET next_number = 4711")
    before = files(album)
    with pytest.raises(Damaged, match=r"foldwalk restore, or make it anew with  foldwalk index"):
        repair(album)
    code, out, err = run("repair", "x.fold")
    assert (code, out, err.count("\n")) == (2, "", 1)
    content = (album / "catalog.db").read_bytes()
    (album / "catalog.db").write_bytes(content[:100] + b"x" * (len(content) - 100))
    assert run("repair", "x.fold")[0] == 2
    (album / "catalog.db").write_bytes(content)
    assert files(album) == before
    assert sorted(path.name for path in album.parent.iterdir()) == ["photos", "x.fold"]


def test_while_another_writes_nothing_is_repaired(album):
    spoil_vectors(album, row=1)
    before = files(album)
    with writer_lock(album), pytest.raises(Busy):
        repair(album)
    assert files(album) == before


def test_stopped_in_the_middle_nothing_has_changed(album, monkeypatch):
    spoil_vectors(album, row=1)
    before = files(album)

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for step in ("index.repair.mend", "index.repair.verify", "stores.folder.copying.exchange"):
        with monkeypatch.context() as patch:
            patch.setattr(f"foldwalk.{step}", stopped)
            with pytest.raises(KeyboardInterrupt):
                repair(album)
        assert files(album) == before
        assert sorted(path.name for path in album.parent.iterdir()) == ["photos", "x.fold"]


def test_the_same_file_of_two_items(album):
    with Index.open(album) as index, index.store.writing() as writer:
        source = next(iter(index.store.sources()))
        record = Record("twice", None, source.source, source.size, source.mtime)
        writer.put_items(index.vectors()[:1], [record], None)
    spoil_vectors(album, row=0)
    spoil_vectors(album, row=12)
    assert repair(album).problems == ()
    with Index.open(album) as index:
        assert (index.vector("twice") == index.vector("00.png")).all()


def test_a_backbone_of_ones_own_has_to_be_handed_in(make_index, photos):
    def grey(images):
        return [[1.0, float(np.asarray(image).mean())] for image in images]

    index = make_index(name="own.fold", backbone=grey)
    index.add_images(photos)
    index.close()
    with open(index.path / "blocks" / "000001.f32", "r+b") as file:
        file.write(b"xxxx")
    with pytest.raises(BadInput, match="handed in"):
        repair(index.path)
    assert len(repair(index.path, backbone=grey).described) == 12


def test_the_command(run, album, photos):
    code, out, err = run("repair", "x.fold")
    assert (code, out, err) == (0, "x.fold: nothing to repair, 12 items\n", "")
    spoil_vectors(album, row=5)
    (photos / "06.png").unlink()
    code, out, err = run("repair", "x.fold")
    assert code == 1
    assert out.startswith("x.fold: 3 described again, 1 still damaged, ")
    assert "--drop" in err
    assert "x.fold.damaged" in err
    code, out, _ = run("repair", "x.fold", "--drop", "--json")
    answer = json.loads(out)
    assert (code, answer["dropped"], answer["items"]) == (0, ["06.png"], 11)
