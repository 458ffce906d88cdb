"""Pictures into the index: resumed, replaced, left out, found again."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest
from picture_files import draw
from PIL import Image

from foldwalk import descriptors
from foldwalk.core import BadInput, MissingData
from foldwalk.index import Index, Like, pictures
from foldwalk.stores.folder.writing import FolderWriter


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for i in range(12):
        draw(tmp_path / "photos" / ("a" if i < 6 else "b") / f"{i}.png", i, side=32)
    (tmp_path / "photos" / "notes.txt").write_text("no picture")
    (tmp_path / "photos" / "broken.jpg").write_bytes(b"\xff\xd8\xff broken")
    return tmp_path / "photos"


@pytest.fixture
def album(make_index, folder):
    index = make_index(backbone="pixels")
    index.add_images(folder)
    return index


def test_a_folder_becomes_items(album, folder):
    assert album.keys() == sorted(f"{'a' if i < 6 else 'b'}/{i}.png" for i in range(12))
    assert album.dim == 1024
    item = album.item("a/3.png")
    assert item.source == str(folder / "a" / "3.png")
    assert item.added.endswith("+00:00")
    pixels = descriptors.backbone("pixels").embed([Image.open(folder / "a" / "3.png")])[0]
    assert np.allclose(album.vector("a/3.png"), pixels / np.linalg.norm(pixels), atol=1e-6)
    with Image.open(io.BytesIO(album.thumbnail("a/3.png"))) as small:
        assert (small.format, small.size) == ("JPEG", (32, 32))
    assert album.verify().ok


def test_what_is_no_picture_is_left_out_with_its_reason(make_index, folder):
    index = make_index(backbone="pixels")
    missing = folder / "missing.png"
    report = index.add_images([*sorted(folder.glob("*/*.png")), folder / "broken.jpg", missing], root=folder)
    assert report.added == 12
    reasons = {Path(bad.path).name: bad.reason for bad in report.skipped}
    assert set(reasons) == {"broken.jpg", "missing.png"}
    assert "No such file" in reasons["missing.png"]
    with pytest.raises(BadInput, match=r"broken\.jpg"):
        index.add_images(folder, on_bad="raise")
    with pytest.raises(BadInput, match="on_bad"):
        index.add_images(folder, on_bad="explode")


def test_running_again_passes_over_what_is_unchanged(album, folder, monkeypatch):
    described, before = [], album.version
    extract = descriptors.extract

    def watched(paths, *args, **kwargs):
        described.extend(Path(path).name for path in paths)
        return extract(paths, *args, **kwargs)

    monkeypatch.setattr(descriptors, "extract", watched)
    draw(folder / "a" / "3.png", 100, side=40)
    draw(folder / "c" / "new.png", 101)
    touched = folder / "a" / "4.png"
    os.utime(touched, ns=(1, 1))
    report = album.add_images(folder)
    assert sorted(described) == ["3.png", "4.png", "broken.jpg", "new.png"]
    assert (report.added, report.replaced, report.unchanged) == (1, 1, 11)
    assert album.version == before + 1  # one batch, one change; a new time of the same picture is none
    assert len(album) == 13
    described.clear()
    assert album.add_images(folder).unchanged == 13
    assert described == ["broken.jpg"]
    assert album.version == before + 1


def test_metadata_of_known_pictures_changes_without_describing_them(album, folder, monkeypatch):
    monkeypatch.setattr(FolderWriter, "put_items", None)
    report = album.add_images(folder, metadata={"a/3.png": {"year": 1990}})
    assert (report.replaced, report.unchanged) == (1, 11)
    assert album.item("a/3.png").metadata == {"year": 1990}
    with pytest.raises(BadInput, match="nobody"):
        album.add_images(folder, metadata={"nobody": {}})


def test_batches_are_committed_one_by_one_and_resumed(make_index, folder, monkeypatch):
    """A stop in the third batch leaves the first two; running again adds the rest and nothing twice."""
    monkeypatch.setattr(pictures, "COMMIT_EVERY", 4)
    monkeypatch.setattr(pictures, "BATCH", 2)
    index = make_index(backbone="pixels")
    put_items, calls = FolderWriter.put_items, []

    def stopping(*args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return put_items(*args)

    monkeypatch.setattr(FolderWriter, "put_items", stopping)
    with pytest.raises(KeyboardInterrupt):
        index.add_images(folder)
    with Index.open(index.path) as again:
        assert (len(again), again.version) == (8, 3)  # the folder and two batches
        assert again.verify().ok
        monkeypatch.setattr(FolderWriter, "put_items", put_items)
        report = again.add_images(folder)
        assert (report.added, report.unchanged) == (4, 8)
        assert len(again) == 12


def test_keys_are_paths_below_the_root(make_index, folder, tmp_path, monkeypatch):
    index = make_index(backbone="pixels")
    index.add_images(folder / "a", root=tmp_path)
    assert index.keys()[0] == "photos/a/0.png"
    index.add_images(folder / "b" / "7.png")
    assert index.keys()[-1] == "7.png"
    monkeypatch.chdir(tmp_path)
    index.add_images([Path("photos/b/8.png")])
    assert index.keys()[-1] == "photos/b/8.png"
    report = index.add_images([folder / "b" / "9.png"], root=folder / "a")
    assert "does not lie below" in report.skipped[0].reason
    with pytest.raises(BadInput, match="twice"):
        index.add_images([folder / "b" / "9.png"] * 2, root=folder)
    with pytest.raises(MissingData, match="nowhere"):
        index.add_images(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="no pictures"):
        index.add_images(tmp_path / "empty")


def test_one_picture_from_memory(album):
    picture = Image.new("RGBA", (50, 20), "red")
    assert album.add_picture(picture, "red", {"colour": "red"}).added == 1
    assert album.item("red").source is None
    assert album.item("red").metadata == {"colour": "red"}
    with Image.open(io.BytesIO(album.thumbnail("red"))) as small:
        assert small.size == (50, 20)
    assert album.search(Image.new("RGB", (50, 20), "red"), method="plain").hits[0].key == "red"
    with pytest.raises(BadInput, match="empty"):
        album.add_picture(picture, "")
    album.remove(["red"])
    assert album.verify().ok


def test_pictures_are_searched_by_file_and_by_image(album, folder):
    path = folder / "a" / "3.png"
    with Image.open(path) as picture:
        by_image = album.search(picture, method="plain")
    for query in (path, str(path)):
        found = album.search(query, method="plain")
        assert found.hits == by_image.hits
        assert found.hits[0].key == "a/3.png"
        assert found.hits[0].similarity == pytest.approx(1, abs=1e-6)
    mixed = album.search(Like([path, "b/8.png"]), top=3, method="plain")
    assert "b/8.png" not in [hit.key for hit in mixed.hits]
    with pytest.raises(BadInput, match=r"broken\.jpg cannot be searched"):
        album.search(folder / "broken.jpg")


def test_another_backbone_is_refused(album, folder):
    small = descriptors.backbone("pixels", size=(8, 8))
    with Index.open(album.path, backbone=small) as index:
        with pytest.raises(BadInput, match="make a new index"):
            index.add_images(folder)
        with pytest.raises(BadInput, match="make a new index"):
            index.search(folder / "a" / "3.png")
        assert len(index.search("a/3.png", method="plain").hits) == 10


def brightness(images: list[Image.Image]) -> np.ndarray:
    return np.array([[1.0, np.asarray(image).mean()] for image in images])


def test_a_backbone_of_ones_own_has_to_be_handed_in_again(make_index, folder):
    index = make_index(backbone=brightness)
    index.add_images(folder)
    assert index.dim == 2
    assert index.info().backbone == "brightness"
    with Index.open(index.path, backbone=brightness) as again:
        assert again.search(folder / "a" / "3.png", method="plain").hits[0].key == "a/3.png"
    with Index.open(index.path) as again, pytest.raises(BadInput, match="handed in"):
        again.search(folder / "a" / "3.png")
    with Index.open(index.path, backbone="pixels") as again, pytest.raises(BadInput, match="described by"):
        again.add_images(folder)
