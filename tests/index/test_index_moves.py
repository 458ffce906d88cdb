"""Files that were moved, renamed or deleted since they were described."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from picture_files import draw

from foldwalk.index import Index, Moved


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for i in range(4):
        draw(tmp_path / "photos" / "old" / f"{i}.png", i)
    return tmp_path / "photos"


@pytest.fixture
def album(make_index, photos) -> Index:
    index = make_index(backbone="pixels")
    index.add_images(photos, metadata={"old/1.png": {"year": 1990}})
    return index


@pytest.fixture
def nothing_described(album, monkeypatch) -> None:  # noqa: ARG001
    monkeypatch.setattr("foldwalk.stores.folder.writing.FolderWriter.put_items", None)


def numbers(index: Index) -> dict[str, int]:
    snapshot = index.store.snapshot()
    return dict(zip(snapshot.keys, snapshot.numbers.tolist(), strict=True))


@pytest.mark.usefixtures("nothing_described")
def test_a_renamed_file_keeps_number_vector_metadata_and_thumbnail(album, photos):
    number, vector, small = (
        numbers(album)["old/1.png"],
        album.vector("old/1.png"),
        album.thumbnail("old/1.png"),
    )
    (photos / "new").mkdir()
    os.rename(photos / "old" / "1.png", photos / "new" / "one.png")
    report = album.add_images(photos)
    assert report.moved == [Moved("old/1.png", "new/one.png")]
    assert (report.added, report.replaced, report.unchanged, report.vanished) == (0, 0, 3, [])
    assert numbers(album)["new/one.png"] == number
    assert (album.vector("new/one.png") == vector).all()
    assert album.thumbnail("new/one.png") == small
    item = album.item("new/one.png")
    assert (item.metadata, item.source) == ({"year": 1990}, str(photos / "new" / "one.png"))
    assert "old/1.png" not in album
    assert album.verify().ok
    assert album.add_images(photos).moved == []


@pytest.mark.usefixtures("nothing_described")
def test_a_moved_file_may_get_other_metadata(album, photos):
    os.rename(photos / "old" / "1.png", photos / "one.png")
    report = album.add_images(photos, metadata={"one.png": {"year": 2000}})
    assert (len(report.moved), report.replaced) == (1, 1)
    assert album.item("one.png").metadata == {"year": 2000}


@pytest.mark.usefixtures("nothing_described")
def test_from_one_folder_to_another(album, photos, tmp_path):
    new = tmp_path / "new"
    new.mkdir()
    os.rename(photos / "old" / "1.png", new / "1.png")
    report = album.add_images(new)
    assert report.moved == [Moved("old/1.png", "new/1.png")]
    assert report.vanished == []  # nothing is gone from the folder that was named


def test_a_copy_is_a_picture_of_its_own(album, photos):
    shutil.copy2(photos / "old" / "1.png", photos / "copy.png")
    report = album.add_images(photos)
    assert (report.added, report.moved) == (1, [])
    assert len(album) == 5


def test_equal_pictures_are_followed_one_by_one(make_index, tmp_path):
    for name in ("a.png", "b.png", "c.png"):
        draw(tmp_path / "photos" / "x" / name, 7)
    draw(tmp_path / "photos" / "other.png", 8)
    index = make_index(backbone="pixels")
    index.add_images(tmp_path / "photos")
    os.rename(tmp_path / "photos" / "x", tmp_path / "photos" / "y")
    os.rename(tmp_path / "photos" / "y" / "a.png", tmp_path / "photos" / "y" / "z.png")
    moved = index.add_images(tmp_path / "photos").moved
    assert Moved("x/b.png", "y/b.png") in moved
    assert Moved("x/c.png", "y/c.png") in moved
    assert Moved("x/a.png", "y/z.png") in moved
    assert len(index) == 4


def test_what_vanished_is_told_and_removed_when_asked(album, photos):
    (photos / "old" / "1.png").unlink()
    for _ in range(2):
        report = album.add_images(photos)
        assert (report.vanished, report.removed, report.unchanged) == (["old/1.png"], 0, 3)
        assert len(album) == 4
    report = album.add_images(photos, prune=True)
    assert (report.vanished, report.removed) == (["old/1.png"], 1)
    assert sorted(album.keys()) == ["old/0.png", "old/2.png", "old/3.png"]
    assert album.verify().ok


def test_only_the_folder_that_was_named_is_pruned(album, photos, tmp_path):
    draw(photos / "new" / "5.png", 5)
    album.add_images(photos)
    second = draw(tmp_path / "second" / "6.png", 6).parent
    draw(second / "7.png", 7)
    album.add_images(second)
    for gone in (photos / "old" / "1.png", photos / "new" / "5.png", second / "7.png"):
        gone.unlink()
    draw(photos / "new" / "8.png", 8)
    assert album.add_images(photos / "new", prune=True).vanished == ["new/5.png"]
    assert album.add_images(second / "6.png", prune=True).vanished == []
    assert {"old/1.png", "second/7.png"} <= set(album.keys())


def test_a_folder_that_is_deleted_inside_a_known_one(album, photos):
    draw(photos / "new" / "5.png", 5)
    album.add_images(photos)
    shutil.rmtree(photos / "new")
    assert album.add_images(photos, prune=True).vanished == ["new/5.png"]


def test_what_may_not_be_looked_at_has_not_vanished(album, photos, monkeypatch):
    hidden = str(photos / "old" / "1.png")
    lstat = os.lstat

    def forbidden(path, *more, **options):
        if str(path) == hidden:
            raise PermissionError(13, "Permission denied", hidden)
        return lstat(path, *more, **options)

    with monkeypatch.context() as patch:
        patch.setattr(
            "foldwalk.descriptors.find_pictures", lambda top: sorted(Path(top).glob("old/[023].png"))
        )
        patch.setattr(os, "lstat", forbidden)
        assert album.add_images(photos, prune=True).vanished == []
    assert len(album) == 4


def test_a_picture_of_a_folder_that_is_away_has_not_moved(album, photos, tmp_path):
    """A copy elsewhere does not take over what lies on a disk that is unplugged."""
    copy = tmp_path / "backup"
    copy.mkdir()
    shutil.copy2(photos / "old" / "1.png", copy / "1.png")
    os.rename(photos, tmp_path / ".unplugged")
    report = album.add_images(copy)
    assert (report.added, report.moved) == (1, [])
    os.rename(tmp_path / ".unplugged", photos)
    assert album.add_images(photos).unchanged == 4
    assert np.array_equal(album.vector("old/1.png"), album.vector("backup/1.png"))
