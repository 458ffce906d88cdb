"""Folders that are watched: real files come, change, move and go, and the index follows."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from picture_files import draw

from foldwalk.core import BadInput, MissingExtra
from foldwalk.index import AddReport, Index, watch
from foldwalk.stores.folder.lock import writer_lock

PATIENCE = 60  # seconds after which something has gone wrong


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def draw_long_ago(path: Path, seed: int) -> Path:
    os.utime(draw(path, seed), (1, 1))
    return path


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for i in range(3):
        draw_long_ago(tmp_path / "photos" / f"{i}.png", i)
    return tmp_path / "photos"


@pytest.fixture
def album(make_index, photos) -> Index:
    index = make_index(name="photos/x.fold", backbone="pixels")  # within the folder it watches
    index.add_images(photos, metadata={"1.png": {"year": 1990}})
    return index


@pytest.fixture
def reports(album, monkeypatch) -> Iterator[list[AddReport]]:
    """What a watch says, while one runs in a thread."""
    monkeypatch.setattr(watch, "SETTLED", 0.3)
    monkeypatch.setattr(watch, "LOOK_EVERY", 50)
    stop, said, failed = threading.Event(), [], []

    def run() -> None:
        try:
            said.extend(watch.watch(album, stop=stop))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    wait_for(lambda: bool(said or failed))
    yield said
    stop.set()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert not failed


def keys(index: Index) -> set[str]:
    with Index.open(index.path) as seen:
        return set(seen.keys())


def test_what_happens_in_the_folder_is_taken_up(album, photos, reports):
    assert reports[0].unchanged == 3
    draw(photos / "sub" / "new.png", 10)
    wait_for(lambda: "sub/new.png" in keys(album))
    (photos / "0.png").unlink()
    wait_for(lambda: "0.png" not in keys(album))
    os.rename(photos / "1.png", photos / "sub" / "one.png")
    wait_for(lambda: "sub/one.png" in keys(album))
    assert album.item("sub/one.png").metadata == {"year": 1990}
    before = album.vector("2.png")
    draw(photos / "2.png", 11, side=8)
    wait_for(lambda: bool((album.vector("2.png") != before).any()))
    assert keys(album) == {"2.png", "sub/new.png", "sub/one.png"}
    wait_for(lambda: sum(report.replaced for report in reports) == 1)
    assert [sum(len(r.moved) for r in reports), sum(r.removed for r in reports)] == [1, 1]
    assert sum(report.added for report in reports) == 1
    assert album.verify().ok


def test_a_file_that_is_still_written_is_not_taken_half(album, photos, reports, monkeypatch):
    whole = draw(photos.parent / "large.bmp", 20, side=64).read_bytes()
    looks = Mock(wraps=album.sync)
    monkeypatch.setattr(album, "sync", looks)
    with monkeypatch.context() as patch, open(photos / "large.bmp", "wb") as file:
        patch.setattr(watch, "SETTLED", 1e9)
        file.write(whole[: len(whole) // 2])
        file.flush()
        wait_for(lambda: looks.call_count >= 3)
        assert "large.bmp" not in keys(album)
        file.write(whole[len(whole) // 2 :])
    wait_for(lambda: "large.bmp" in keys(album))
    assert not [report.skipped for report in reports if report.skipped]
    with Index.open(album.path) as seen:
        found = {source.key: source.size for source in seen.store.sources()}
    assert found["large.bmp"] == len(whole)


def test_a_copy_that_takes_the_place_of_a_file_is_waited_for(album, photos, reports, monkeypatch):
    """Copied and then deleted, it is still the same picture."""
    looks = Mock(wraps=album.sync)
    monkeypatch.setattr(album, "sync", looks)
    with monkeypatch.context() as patch:
        patch.setattr(watch, "SETTLED", 1e9)
        shutil.copyfile(photos / "1.png", photos / "copy.png")
        (photos / "1.png").unlink()
        wait_for(lambda: looks.call_count >= 3)
        assert keys(album) == {"0.png", "1.png", "2.png"}
    wait_for(lambda: "copy.png" in keys(album))
    assert album.item("copy.png").metadata == {"year": 1990}
    assert keys(album) == {"0.png", "2.png", "copy.png"}
    wait_for(lambda: [pair.old for report in reports for pair in report.moved] == ["1.png"])


def test_what_cannot_be_taken_is_told_once(album, photos, reports):
    (photos / "broken.png").write_bytes(b"broken")
    wait_for(lambda: any(report.skipped for report in reports))
    draw(photos / "new.png", 10)
    wait_for(lambda: "new.png" in keys(album))
    assert sum(len(report.skipped) for report in reports) == 1


def test_while_another_writes_it_waits(album, photos, reports):
    with writer_lock(album.path):
        draw(photos / "new.png", 10)
        wait_for(lambda: any(report.notes for report in reports))
        assert "new.png" not in keys(album)
    wait_for(lambda: "new.png" in keys(album))
    assert sum(len(report.notes) for report in reports) == 1


def test_a_disk_that_is_unplugged_and_comes_back(make_index, tmp_path, monkeypatch):
    monkeypatch.setattr(watch, "SETTLED", 0.3)
    monkeypatch.setattr(watch, "LOOK_EVERY", 50)
    photos = draw_long_ago(tmp_path / "disk" / "1.png", 1).parent
    index = make_index(backbone="pixels")
    index.add_images(photos)
    stop = threading.Event()
    said = watch.watch(index, stop=stop)
    assert next(said).unchanged == 1
    os.rename(photos, tmp_path / ".unplugged")
    assert "is not there" in next(said).notes[0]
    assert len(index) == 1
    draw_long_ago(tmp_path / ".unplugged" / "2.png", 2)
    os.rename(tmp_path / ".unplugged", photos)
    assert next(said).added == 1
    draw(photos / "3.png", 3)
    assert next(said).added == 1
    stop.set()
    assert list(said) == []
    assert len(index) == 3


def test_an_index_without_folders_and_without_the_package(make_index, album, monkeypatch):
    with pytest.raises(BadInput, match="knows no folders"):
        next(watch.watch(make_index(name="y.fold", backbone="pixels")))
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(MissingExtra, match=r"foldwalk\[watch\]"):
        next(watch.watch(album))


def test_the_command_ends_cleanly_by_ctrl_c(album, photos):
    album.close()
    command = [sys.executable, "-m", "foldwalk", "sync", str(album.path), "--watch", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert json.loads(process.stdout.readline())["unchanged"] == 3
        shutil.copy2(photos / "1.png", photos / "copy.png")
        assert json.loads(process.stdout.readline())["added"] == 1
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out, err) == (0, "", "")
    finally:
        process.kill()
        process.wait()
