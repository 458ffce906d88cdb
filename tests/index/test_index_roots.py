"""Keys of pictures from several folders: no picture takes the place of another, each keeps the key it had."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from picture_files import as_of_format_1, draw
from PIL import Image

from foldwalk.core import BadInput
from foldwalk.index import Index


@pytest.fixture
def cameras(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders of the same names: camera1 and camera2, each with IMG_1.png and day/IMG_2.png."""
    folders = tmp_path / "camera1", tmp_path / "camera2"
    for i, folder in enumerate(folders):
        draw(folder / "IMG_1.png", 2 * i)
        draw(folder / "day" / "IMG_2.png", 2 * i + 1)
    return folders


@pytest.fixture
def index(make_index) -> Index:
    return make_index(backbone="pixels")


def test_a_second_folder_gets_a_prefix(index, cameras):
    first, second = cameras
    report = index.add_images(first)
    assert (report.roots, report.notes) == ({"": str(first)}, [])
    before = index.vector("IMG_1.png")
    report = index.add_images(second)
    assert (report.added, report.replaced) == (2, 0)
    assert report.roots == {"camera2/": str(second)}
    assert report.notes == [f"the keys of {second} begin with camera2/"]
    assert set(index.keys()) == {
        "IMG_1.png", "day/IMG_2.png", "camera2/IMG_1.png", "camera2/day/IMG_2.png",
    }  # fmt: skip
    assert (index.vector("IMG_1.png") == before).all()
    assert index.store.roots() == {"": str(first), "camera2/": str(second)}


def test_prefixes_are_unique(index, cameras, tmp_path):
    first, second = cameras
    draw(first / "camera2" / "IMG_9.png", 9)  # a folder in the first that is called as the second
    index.add_images(first)
    index.add_images(second)
    third = draw(tmp_path / "elsewhere" / "camera2" / "IMG_1.png", 10).parent
    index.add_images(third)
    assert index.store.roots() == {"": str(first), "camera2-2/": str(second), "camera2-3/": str(third)}
    assert len(index) == 6


def test_the_same_folder_keeps_its_keys_however_it_is_named(index, cameras, tmp_path, monkeypatch):
    first, second = cameras
    index.add_images(first)
    index.add_images(second)
    keys, version = index.keys(), index.version
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(second)
    names = [
        "camera2",
        "camera2/",
        "./camera2",
        "camera1/../camera2",
        second / ".",
        "link",
        "link/",
        "camera2/day",
    ]
    for name in names:
        report = index.add_images(name)
        assert (report.added, report.replaced, report.notes) == (0, 0, []), name
        assert report.roots == {"camera2/": str(second)}
    monkeypatch.chdir(second)
    assert index.add_images(".").unchanged == 2
    assert (index.keys(), index.version) == (keys, version)


def test_a_folder_in_a_known_one_and_single_files_of_it(index, cameras):
    first, second = cameras
    index.add_images(first)
    index.add_images(second)
    draw(second / "day" / "new.png", 20)
    assert index.add_images(second / "day").added == 1
    assert "camera2/day/new.png" in index
    newer = draw(second / "day" / "newer.png", 21)
    index.add_images(newer)
    newest = draw(second / "newest.png", 22)
    index.add_images([newer, newest])
    assert {"camera2/day/newer.png", "camera2/newest.png"} <= set(index.keys())
    assert len(index) == 7
    assert index.item("camera2/newest.png").source == str(newest)


def test_a_folder_around_a_known_one(index, cameras, tmp_path):
    first, _ = cameras
    index.add_images(first / "day")
    index.add_images(tmp_path)
    name = f"{tmp_path.name}/"
    assert index.store.roots() == {"": str(first / "day"), name: str(tmp_path)}
    assert set(index.keys()) == {
        "IMG_2.png", f"{name}camera1/IMG_1.png", f"{name}camera2/IMG_1.png", f"{name}camera2/day/IMG_2.png",
    }  # fmt: skip
    draw(first / "day" / "new.png", 30)
    index.add_images(tmp_path)
    assert "new.png" in index


def test_single_files_keep_their_names_unless_these_are_taken(index, cameras):
    first, second = cameras
    index.add_images(first / "IMG_1.png")
    report = index.add_images(second / "IMG_1.png")
    assert (report.added, report.replaced) == (1, 0)
    assert "IMG_1.png is that of another picture" in report.notes[0]
    assert index.keys() == ["IMG_1.png", "camera2/IMG_1.png"]
    assert index.add_images(second / "IMG_1.png").unchanged == 1
    assert index.store.roots() == {}
    index.add_images(first)  # the folder of the first comes later
    assert index.store.roots() == {"": str(first)}
    assert index.keys() == ["IMG_1.png", "camera2/IMG_1.png", "day/IMG_2.png"]


def test_an_upload_is_not_replaced_by_a_file_of_its_name(index, cameras):
    first, _ = cameras
    index.add_picture(Image.new("RGB", (4, 4), "red"), "IMG_1.png", {"mine": True})
    before = index.vector("IMG_1.png")
    assert index.add_images(first).roots == {"camera1/": str(first)}
    assert (index.vector("IMG_1.png") == before).all()
    assert index.item("IMG_1.png").metadata == {"mine": True}
    assert len(index) == 3
    index.add_picture(Image.linear_gradient("L"), "IMG_1.png")  # by its key it may be
    assert len(index) == 3
    assert not (index.vector("IMG_1.png") == before).all()


def test_a_key_that_is_taken_is_refused_where_it_was_asked_for(index, cameras):
    first, second = cameras
    index.add_images(first, root=first)
    before = index.vector("IMG_1.png")
    report = index.add_images(second, root=second)
    assert (report.added, report.replaced) == (0, 0)
    assert [Path(bad.path) for bad in report.skipped] == [second / "IMG_1.png", second / "day" / "IMG_2.png"]
    assert f"'IMG_1.png' is taken by {first / 'IMG_1.png'}" in report.skipped[0].reason
    assert (index.vector("IMG_1.png") == before).all()
    with pytest.raises(BadInput, match="is taken by"):
        index.add_images(second, root=second, on_bad="raise")


def test_a_folder_that_appears_where_a_prefix_points_is_refused(index, cameras):
    first, second = cameras
    index.add_images(first)
    index.add_images(second)
    draw(first / "camera2" / "IMG_1.png", 40)
    draw(first / "camera2" / "free.png", 41)
    report = index.add_images(first)
    assert "'camera2/IMG_1.png' is taken by" in report.skipped[0].reason
    assert index.item("camera2/IMG_1.png").source == str(second / "IMG_1.png")
    assert index.item("camera2/free.png").source == str(first / "camera2" / "free.png")


def test_metadata_by_the_path_below_the_folder(index, cameras):
    first, second = cameras
    index.add_images(first)
    index.add_images(second, metadata={"IMG_1.png": {"by": "path"}, "camera2/day/IMG_2.png": {"by": "key"}})
    assert index.item("camera2/IMG_1.png").metadata == {"by": "path"}
    assert index.item("camera2/day/IMG_2.png").metadata == {"by": "key"}
    assert index.item("IMG_1.png").metadata == {}
    with pytest.raises(BadInput, match="twice"):
        index.add_images(second, metadata={"IMG_1.png": {}, "camera2/IMG_1.png": {}})


@pytest.fixture
def old(index, cameras) -> Iterator[Index]:
    """camera1, in an index of the first format."""
    index.add_images(cameras[0])
    index.close()
    as_of_format_1(index.path)
    with Index.open(index.path) as opened:
        assert opened.store.facts().format == 1
        yield opened


def test_an_index_of_the_first_format_finds_its_keys(old, cameras):
    first, second = cameras
    draw(first / "day" / "new.png", 50)
    report = old.add_images(first / "day")
    assert (report.added, report.unchanged, report.roots) == (1, 1, {"day/": str(first / "day")})
    assert "day/new.png" in old
    old.add_images(second)
    assert "camera2/IMG_1.png" in old
    draw(first / "newer.png", 51)
    assert (old.add_images(first).added, "newer.png" in old) == (1, True)
    assert old.roots() == {"": str(first), "day/": str(first / "day"), "camera2/": str(second)}


def test_an_index_of_the_first_format_gets_another_folder(old, cameras):
    first, second = cameras
    with pytest.raises(BadInput, match="knows no folders"):
        old.sync()
    old.add_images(second)
    assert old.roots() == {"camera2/": str(second)}
    assert old.add_images(first).unchanged == 2
    assert old.sync().unchanged == len(old) == 4
    assert None not in {source.digest for source in old.store.sources()}


def test_a_folder_that_was_moved_as_a_whole_is_followed(index, cameras, tmp_path, monkeypatch):
    first, second = cameras
    draw(first / "IMG_3.png", 60)
    index.add_images(first, metadata={"IMG_1.png": {"year": 1990}})
    index.add_images(second)
    there = tmp_path / "elsewhere"
    os.rename(first, there)
    (there / "day" / "IMG_2.png").unlink()
    monkeypatch.setattr("foldwalk.stores.folder.writing.FolderWriter.put_items", None)  # nothing is described
    report = index.add_images(there)
    assert report.roots == {"": str(there)}
    assert report.notes == [f"{first} lies at {there} now"]
    assert report.vanished == ["day/IMG_2.png"]
    assert index.item("IMG_1.png").source == str(there / "IMG_1.png")
    assert index.item("IMG_1.png").metadata == {"year": 1990}
    assert (report.unchanged, len(index)) == (2, 5)


def test_another_folder_of_the_same_names_does_not_follow_one_that_is_away(index, cameras, tmp_path):
    first, second = cameras
    index.add_images(first)
    os.rename(first, tmp_path / ".unplugged")
    assert index.add_images(second).roots == {"camera2/": str(second)}
    assert len(index) == 4
