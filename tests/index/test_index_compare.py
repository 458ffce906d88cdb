"""What verify says of the files that items were read from."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from picture_files import draw

from foldwalk.index import FileCheck, Index


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for i in range(6):
        draw(tmp_path / "photos" / f"{i}.png", i)
    return tmp_path / "photos"


@pytest.fixture
def album(make_index, photos) -> Index:
    index = make_index(backbone="pixels")
    index.add_images(photos)
    return index


def test_files_are_compared_when_asked(album, photos, monkeypatch):
    album.add_vectors(album.vectors()[:1], ["of no file"])
    assert album.verify().files is None
    assert album.verify(files=True).files == FileCheck()
    assert album.verify(files=True).ok
    (photos / "0.png").unlink()
    draw(photos / "1.png", 11, side=8)
    os.utime(photos / "2.png", ns=(1, 1))  # the same content
    content = (photos / "3.png").read_bytes()
    (photos / "3.png").write_bytes(content[:-1] + b"x")  # of the same size
    os.utime(photos / "3.png", ns=(1, 1))
    (photos / "4.png").unlink()
    os.mkfifo(photos / "4.png")
    (photos / "5.png").unlink()
    (photos / "5.png").symlink_to(photos / "5.png")
    version = album.version
    found = album.verify(files=True)
    assert not found.ok
    assert found.problems == ()
    assert found.files == FileCheck(["0.png"], ["1.png", "3.png"], ["4.png", "5.png"])
    assert album.version == version
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "2.png" in album.verify(files=True).files.unreadable


def test_a_folder_that_is_away_is_one_finding(album, photos, tmp_path):
    os.rename(photos, tmp_path / "elsewhere")
    assert album.verify(files=True).files == FileCheck(away=[str(photos)])
    photos.mkdir()
    assert album.verify(files=True).files == FileCheck(away=[str(photos)])


def test_the_command(run, album, photos):
    album.close()
    code, out, _ = run("verify", "x.fold", "--files")
    assert (code, "all is well" in out) == (0, True)
    (photos / "0.png").unlink()
    draw(photos / "1.png", 11, side=8)
    assert run("verify", "x.fold")[0] == 0
    code, out, _ = run("verify", "x.fold", "--files")
    assert code == 1
    assert out.splitlines()[:2] == ["files missing: 0.png", "files changed: 1.png"]
    assert "1 files missing, 1 files changed (" in out
    code, out, _ = run("verify", "x.fold", "--files", "--json")
    answer = json.loads(out)
    assert (code, answer["ok"], answer["files"]["missing"]) == (1, False, ["0.png"])
    code, out, _ = run("sync", "x.fold")
    assert (code, "1 replaced" in out, "1 removed" in out) == (0, True, True)
    assert run("verify", "x.fold", "--files")[0] == 0
