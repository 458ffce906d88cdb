"""Omniglot, in small archives of the published layout."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from foldwalk import datasets
from foldwalk.core import BadInput, MissingData


def drawing(grey: int, side: int = 105) -> bytes:
    buffer = io.BytesIO()
    Image.new("L", (side, side), grey).save(buffer, "PNG")
    return buffer.getvalue()


OMNIGLOT = {
    "images_background_small1": {"Greek/character01/0394_01.png": 1, "Latin/character02/0684_01.png": 2},
    "images_background_small2": {"Greek/character01/0394_01.png": 3, "Tagalog/character01/0910_20.png": 4},
}


def omniglot_archives(folder: Path, extra: dict[str, bytes] | None = None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for part, members in OMNIGLOT.items():
        with zipfile.ZipFile(folder / f"{part}.zip", "w") as archive:
            archive.writestr(f"{part}/Greek/", b"")
            for name, grey in members.items():
                archive.writestr(f"{part}/{name}", drawing(grey))
            for name, content in (extra or {}).items():
                archive.writestr(name, content)


@pytest.mark.parametrize("unpacked", [False, True])
def test_omniglot_counts_shared_characters_once(tmp_path: Path, unpacked: bool) -> None:
    folder = tmp_path / "omniglot"
    omniglot_archives(folder, {"__MACOSX/x/._0394_01.png": b"", "images_background_small1/README": b"hello"})
    if unpacked:
        for part in OMNIGLOT:
            with zipfile.ZipFile(folder / f"{part}.zip") as archive:
                archive.extractall(folder)
            (folder / f"{part}.zip").unlink()
    dataset = datasets.load("omniglot", tmp_path)
    assert dataset.labels.tolist() == ["Greek/character01", "Latin/character02", "Tagalog/character01"]
    assert [dataset.picture(i).getpixel((0, 0)) for i in range(3)] == [1, 2, 4]
    assert np.array_equal(dataset.gallery, np.repeat([[1.0], [2.0], [4.0]], 28 * 28, axis=1))
    assert (dataset.gallery_paths is not None) == unpacked


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("../../evil.png", b"", "leads out"),
        ("/evil.png", b"", "leads out"),
        ("a/Latin/character09/0001_01.png", b"no picture", "cannot be decoded"),
        ("a/Latin/character09/0001_01.png", drawing(0, side=50), "not 105 x 105"),
        ("a/Latin/character09/0001_01.png", b"\0" * 100_000, "too large"),
    ],
)
def test_omniglot_refuses_odd_members(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    omniglot_archives(tmp_path / "omniglot", {name: content})
    with pytest.raises(BadInput, match=why):
        datasets.load("omniglot", tmp_path)
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {".zip"}


def test_omniglot_needs_both_archives_whole(tmp_path: Path) -> None:
    folder = tmp_path / "omniglot"
    omniglot_archives(folder)
    second = folder / "images_background_small2.zip"
    second.write_bytes(second.read_bytes()[:200])
    with pytest.raises(BadInput, match="not a whole archive"):
        datasets.load("omniglot", tmp_path)
    second.unlink()
    with pytest.raises(MissingData, match=r"images_background_small2\.zip"):
        datasets.load("omniglot", tmp_path)
    (folder / "images_background_small1.zip").rename(folder / "images_evaluation.zip")
    assert len(datasets.load("omniglot-evaluation:pictures", tmp_path).labels) == 2
    assert not datasets.describe("omniglot-background", tmp_path).present
