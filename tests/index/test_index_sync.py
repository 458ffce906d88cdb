"""An index brought up to date with its folders: nothing is lost with a disk that is unplugged."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from picture_files import draw

from foldwalk.core import BadInput, MissingData
from foldwalk.core.digests import digest_of_file
from foldwalk.index import Index, Moved
from foldwalk.index.files.disk import is_gone
from foldwalk.stores import Record


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    for i in range(3):
        draw(tmp_path / "one" / f"{i}.png", i)
        draw(tmp_path / "two" / f"{i}.png", 10 + i)
    return tmp_path / "one", tmp_path / "two"


@pytest.fixture
def album(make_index, folders) -> Index:
    index = make_index(backbone="pixels")
    for folder in folders:
        index.add_images(folder)
    return index


def test_all_folders_are_brought_up_to_date(album, folders):
    one, two = folders
    version = album.version
    assert (album.sync().unchanged, album.version) == (6, version)
    draw(one / "new.png", 20)
    draw(one / "1.png", 21, side=8)
    (one / "0.png").unlink()
    (two / "0.png").unlink()
    os.rename(two / "1.png", one / "from two.png")
    report = album.sync()
    assert (report.added, report.replaced, report.unchanged, report.removed) == (1, 1, 2, 2)
    assert report.moved == [Moved("two/1.png", "from two.png")]
    assert sorted(report.vanished) == ["0.png", "two/0.png"]
    assert sorted(album.keys()) == ["1.png", "2.png", "from two.png", "new.png", "two/2.png"]
    assert album.roots() == {"": str(one), "two/": str(two)}
    assert album.verify().ok


def test_folders_that_are_named(album, folders, tmp_path):
    one, two = folders
    (one / "0.png").unlink()
    (two / "0.png").unlink()
    assert album.sync([two]).vanished == ["two/0.png"]
    draw(tmp_path / "three" / "0.png", 30)
    assert album.sync([tmp_path / "three"]).added == 1
    assert "0.png" in album
    with pytest.raises(MissingData, match="not a folder"):
        album.sync([tmp_path / "nowhere"])


def test_a_folder_that_is_missing_loses_nothing(album, folders, tmp_path):
    one, two = folders
    os.rename(two, tmp_path / ".unplugged")
    (one / "0.png").unlink()
    for named in (None, [two], [two / "below"]):
        report = album.sync(named, force=True)
        assert "is not there" in report.notes[0]
    assert len(album) == 5
    shutil.rmtree(one)
    assert len(album.sync().notes) == 2
    assert len(album) == 5


def test_a_disk_that_is_unplugged_meanwhile_loses_nothing(album, folders, tmp_path, monkeypatch):
    one, two = folders
    looked = []

    def unplugging(path):
        looked.append(path)
        if len(looked) == 1:
            os.rename(two, tmp_path / ".unplugged")
            two.mkdir()  # what stays is where it was mounted
        return is_gone(path)

    draw(one / "new.png", 20)
    (one / "0.png").unlink()
    (two / "0.png").unlink()
    monkeypatch.setattr("foldwalk.index.files.moves.is_gone", unplugging)
    report = album.sync([two])
    assert looked
    assert (report.vanished, len(album)) == ([], 6)


def test_a_folder_without_pictures_loses_something_by_force_alone(album, folders):
    one, two = folders
    for path in two.iterdir():
        path.unlink()
    for _ in range(2):
        report = album.sync()
        assert "holds no pictures" in report.notes[0]
        assert (report.removed, len(album)) == (0, 6)
        (two / "notes.txt").write_text("not a picture")
    assert album.sync(force=True).removed == 3
    (one / "0.png").unlink()
    (two / "notes.txt").unlink()
    draw(two / "9.png", 9)
    assert (album.sync([two]).added, len(album)) == (1, 4)
    (two / "9.png").unlink()
    assert album.sync([two], force=True).vanished == ["two/9.png"]  # the folder is empty


def test_a_folder_in_another_is_looked_at_once(make_index, folders, tmp_path):
    one, two = folders
    index = make_index(backbone="pixels")
    index.add_images(one)
    outer = tmp_path / "outer"
    outer.mkdir()
    os.rename(two, outer / "two")
    draw(outer / "x.png", 40)
    index.add_images(outer / "two")
    index.add_images(outer)
    keys = set(index.keys())
    assert {"two/0.png", "outer/x.png"} <= keys
    assert index.sync().unchanged == 7
    os.rename(outer / "two", tmp_path / ".unplugged")
    report = index.sync()
    assert (len(report.notes), report.removed) == (1, 0)
    assert index.add_images(outer, prune=True).removed == 0
    (outer / "two").mkdir()  # where a disk is mounted
    index.sync()
    assert set(index.keys()) == keys


def test_digests_of_older_items_are_noted(album, folders):
    one, _ = folders
    with album.store.writing() as writer:
        noted = [Record(s.key, None, s.source, s.size, s.mtime) for s in album.store.sources()]
        writer.rename({record.key: record for record in noted})
    assert {source.digest for source in album.store.sources()} == {None}
    draw(one / "1.png", 21, side=8)
    assert album.sync().unchanged == 5
    for source in album.store.sources():
        assert source.digest == digest_of_file(source.source)
    assert album.verify().ok


def test_an_index_of_vectors_knows_no_folders(make_index, vectors):
    with pytest.raises(BadInput):
        make_index(vectors).sync()
    with pytest.raises(BadInput, match="knows no folders"):
        make_index(name="y.fold", backbone="pixels").sync()
