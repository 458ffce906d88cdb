"""Where results go is checked before the work: what is there, what is no place for them."""

from __future__ import annotations

import os

import pytest

from foldwalk.core import BadInput, MissingData
from foldwalk.core.targets import check_file, check_folder


@pytest.fixture
def here(tmp_path):
    (tmp_path / "file").write_bytes(b"mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    os.mkfifo(tmp_path / "fifo")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("file", "exists already; choose another name, or replace it with asking"),
        ("folder", "is there and is no file"),
        ("dangling", "is there and is no file"),
        ("fifo", "is there and is no file"),
        ("none/x", "is not a folder; create it first"),
        ("file/x", "is not a folder; create it first"),
        ("/proc/x", "/proc takes no new files"),
    ],
)
def test_files_that_are_refused(here, name, words):
    before = sorted(here.iterdir())
    with pytest.raises((BadInput, MissingData), match=words):
        check_file(here / name, overwrite=False, how="asking")
    if name != "file":
        with pytest.raises((BadInput, MissingData), match=words):
            check_file(here / name, overwrite=True, how="asking")
    assert sorted(here.iterdir()) == before


def test_files_that_are_taken(here):
    check_file(here / "new", overwrite=False, how="asking")
    check_file(here / "file", overwrite=True, how="asking", inputs=[here / "other"])
    with pytest.raises(BadInput, match="is one of the inputs"):
        check_file(here / "file", overwrite=True, how="asking", inputs=[here / "folder" / ".." / "file"])
    assert (here / "file").read_bytes() == b"mine"
    assert not (here / "new").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("file", "is a file; name a folder"),
        ("fifo", "is no folder; name a folder"),
        ("dangling", "is no folder; name a folder"),
        ("file/x/y", "cannot be created: .*file is not a folder that can be written to"),
        ("/proc/x", "cannot be created: /proc is not a folder that can be written to"),
    ],
)
def test_folders_that_are_refused(here, name, words):
    with pytest.raises(BadInput, match=words):
        check_folder(here / name)


@pytest.mark.parametrize("name", ["folder", "new", "new/below"])
def test_folders_that_are_taken(here, name):
    before = sorted(here.rglob("*"))
    check_folder(here / name)
    assert sorted(here.rglob("*")) == before
