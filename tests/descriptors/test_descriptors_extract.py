"""Many pictures to vectors: order, batches, threads, thumbnails, and going on after a failure."""

from __future__ import annotations

import hashlib
import importlib
import io
import os
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from foldwalk.core.digests import digest_of_file
from foldwalk.core.errors import BadInput, BadParameter
from foldwalk.core.progress import PlainLines, RichBars, reporting
from foldwalk.descriptors import backbone, describe, extract, find_pictures

COUNT = 23


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Pictures 00.png ... 22.png, number i of grey 10 i; number 5 is broken."""
    photos = tmp_path / "photos"
    photos.mkdir()
    for number in range(COUNT):
        Image.new("RGB", (20, 10), (10 * number,) * 3).save(photos / f"{number:02}.png")
    (photos / "05.png").write_bytes(b"broken")
    return photos


class Counting:
    """The mean grey of each picture; counts what it sees and fails after so many if asked."""

    def __init__(self) -> None:
        self.seen, self.most = [], 10**9

    def __call__(self, pictures):
        if len(self.seen) + len(pictures) > self.most:
            raise RuntimeError("the power went out")
        greys = [float(np.asarray(picture).mean()) for picture in pictures]
        self.seen += greys
        return [[grey, 1.0] for grey in greys]


@pytest.fixture
def counting():
    function = Counting()
    model = backbone(function)
    function.seen.clear()  # the picture it was tried on
    return function, model


GOOD = [number for number in range(COUNT) if number != 5]


def test_digests_are_those_of_the_files(folder: Path, tmp_path: Path) -> None:
    (batch,) = extract(find_pictures(folder), backbone("pixels"), cache=tmp_path / "work")
    whole = [hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest() for path in batch.paths]
    assert batch.digests == whole == [digest_of_file(path) for path in batch.paths]
    (again,) = extract(find_pictures(folder), backbone("pixels"), cache=tmp_path / "work")
    assert again.digests == [None] * len(GOOD)  # none of them was read


def test_only_regular_files_have_digests(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path / "absent", tmp_path):
        with pytest.raises(OSError):
            digest_of_file(path)


@pytest.mark.parametrize(("batch", "threads"), [(1, 1), (4, 2), (5, None), (23, 2), (100, 1)])
def test_order_is_kept(folder: Path, batch: int, threads: int | None):
    model = backbone("pixels", size=(1, 1))
    batches = list(extract(find_pictures(folder), model, batch=batch, threads=threads))
    assert len(batches) == -(-COUNT // batch)
    paths = [path for b in batches for path in b.paths]
    assert [path.name for path in paths] == [f"{number:02}.png" for number in GOOD]
    vectors = np.concatenate([b.vectors for b in batches])
    assert vectors[:, 0].tolist() == [10 * number for number in GOOD]
    assert [(bad.path.name, bad.reason) for b in batches for bad in b.skipped] == [
        ("05.png", "it is not a picture of a known format.")
    ]
    assert all(b.thumbnails is None for b in batches)


def test_describe_is_extract_in_one(folder: Path):
    model = backbone("pixels", size=(2, 2))
    described = describe([str(path) for path in find_pictures(folder)], model, batch=4)
    assert described.vectors.shape == (COUNT - 1, 4)
    assert described.vectors.dtype == np.float32
    assert [path.name for path in described.paths] == [f"{number:02}.png" for number in GOOD]
    assert len(described.skipped) == 1


def test_nothing_to_describe(folder: Path):
    model = backbone("pixels", size=(2, 2))
    assert describe([], model).vectors.shape == (0, 4)
    only_bad = describe([folder / "05.png"], model)
    assert only_bad.vectors.shape == (0, 4)
    assert len(only_bad.skipped) == 1


@pytest.mark.parametrize("options", [{"batch": 0}, {"batch": 2.0}, {"threads": 0}, {"threads": True}])
def test_bad_options_are_named_at_once(folder: Path, options):
    with pytest.raises(BadParameter, match=next(iter(options))):
        extract(find_pictures(folder), backbone("pixels"), **options)


def test_thumbnails(folder: Path, tmp_path: Path):
    paths = find_pictures(folder)
    work = tmp_path / "work"
    first = list(extract(paths, backbone("pixels"), batch=6, thumbnails=True, cache=work))
    for b in first:
        assert b.thumbnails is not None
        assert len(b.thumbnails) == len(b.paths)
        for path, content in zip(b.paths, b.thumbnails, strict=True):
            small = Image.open(io.BytesIO(content))
            assert (small.format, small.size) == ("JPEG", (20, 10))
            assert abs(small.getpixel((3, 3))[0] - 10 * int(path.stem)) <= 2
    again = list(extract(paths, backbone("pixels"), batch=6, thumbnails=True, cache=work))
    assert [b.thumbnails for b in again] == [b.thumbnails for b in first]


def test_thumbnails_do_not_change_vectors_nor_their_lack(folder: Path, tmp_path: Path, counting):
    function, model = counting
    plain = list(extract(find_pictures(folder), model, cache=tmp_path / "work"))
    assert len(function.seen) == COUNT - 1
    small = list(extract(find_pictures(folder), model, cache=tmp_path / "work", thumbnails=True))
    assert len(function.seen) == 2 * (COUNT - 1)  # kept without thumbnails: described again
    np.testing.assert_array_equal(plain[0].vectors, small[0].vectors)
    list(extract(find_pictures(folder), model, cache=tmp_path / "work"))
    assert len(function.seen) == 2 * (COUNT - 1)


# Going on where it stopped ---------------------------------------------------------------------------------


def test_resume_after_an_exception_in_the_middle(folder: Path, tmp_path: Path, counting):
    function, model = counting
    work = tmp_path / "work"
    function.most = 13
    with pytest.raises(RuntimeError, match="the power went out"):
        describe(find_pictures(folder), model, batch=4, resume=work)
    done = len(function.seen)
    assert 0 < done < COUNT - 1
    function.most = 10**9
    described = describe(find_pictures(folder), model, batch=4, resume=work)
    assert sorted(function.seen) == [10 * number for number in GOOD]  # nothing was done twice
    assert described.vectors.tolist() == [[10 * number, 1] for number in GOOD]
    assert [bad.path.name for bad in described.skipped] == ["05.png"]
    describe(find_pictures(folder), model, batch=7, resume=work)
    assert len(function.seen) == COUNT - 1
    assert not [path for path in work.iterdir() if not path.name.startswith("batch-")]


def test_changed_and_repaired_pictures_are_described_again(folder: Path, tmp_path: Path, counting):
    function, model = counting
    work = tmp_path / "work"
    describe(find_pictures(folder), model, batch=4, resume=work)
    function.seen.clear()
    Image.new("RGB", (20, 10), (7, 7, 7)).save(folder / "03.png")
    os.utime(folder / "03.png", ns=(0, time.time_ns() + 10**9))
    Image.new("RGB", (20, 10), (8, 8, 8)).save(folder / "05.png")
    Image.new("RGB", (20, 10), (9, 9, 9)).save(folder / "99.png")
    described = describe(find_pictures(folder), model, batch=4, resume=work)
    assert sorted(function.seen) == [7, 8, 9]
    assert described.vectors[[3, 5, -1], 0].tolist() == [7, 8, 9]
    assert not described.skipped


def test_another_backbone_starts_anew(folder: Path, tmp_path: Path, counting):
    function, model = counting
    describe(find_pictures(folder), model, resume=tmp_path / "work")
    other = backbone(function, version="2")
    function.seen.clear()
    describe(find_pictures(folder), other, resume=tmp_path / "work")
    assert len(function.seen) == COUNT - 1
    function.seen.clear()
    describe(find_pictures(folder), model, resume=tmp_path / "work")
    assert function.seen == []


def test_broken_batches_are_made_again(folder: Path, tmp_path: Path, counting):
    function, model = counting
    work = tmp_path / "work"
    expected = describe(find_pictures(folder), model, batch=5, resume=work).vectors
    files = sorted(work.iterdir())
    assert len(files) == 5
    files[0].write_bytes(files[0].read_bytes()[:200])
    np.savez(files[1], keys=np.array(["x"]), vectors=np.zeros((1, 9), np.float32))
    function.seen.clear()
    again = describe(find_pictures(folder), model, batch=5, resume=work).vectors
    np.testing.assert_array_equal(again, expected)
    assert 4 <= len(function.seen) <= 10
    function.seen.clear()
    describe(find_pictures(folder), model, batch=5, resume=work)
    assert function.seen == []


def test_a_folder_that_cannot_be_made(folder: Path):
    with pytest.raises(BadInput, match="cannot hold finished batches"):
        describe(find_pictures(folder), backbone("pixels"), resume=folder / "00.png" / "work")


# Around it -------------------------------------------------------------------------------------------------


def decoding_threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("foldwalk-decode")]


def test_no_thread_is_left_behind(folder: Path):
    batches = extract(find_pictures(folder), backbone("pixels"), batch=3)
    next(batches)
    assert decoding_threads()
    batches.close()
    assert not decoding_threads()
    list(extract(find_pictures(folder), backbone("pixels"), batch=3))
    assert not decoding_threads()


def test_one_batch_ahead_and_no_more(folder: Path, monkeypatch):
    submitted = []

    class Counting(ThreadPoolExecutor):
        def submit(self, work, path):
            submitted.append(path)
            return super().submit(work, path)

    module = importlib.import_module("foldwalk.descriptors.extract")
    monkeypatch.setattr(module, "ThreadPoolExecutor", Counting)
    batches = extract(find_pictures(folder), backbone("pixels"), batch=4)
    assert not submitted
    next(batches)
    assert len(submitted) == 8
    batches.close()


def test_progress_tells_the_pace_and_the_time_left(folder: Path):
    stream = io.StringIO()
    with reporting(PlainLines(stream, every_seconds=0)):
        describe(find_pictures(folder), backbone("pixels"), batch=10)
    lines = stream.getvalue().splitlines()
    pattern = r"describing: (\d+)/23, [\d.e+]+ pictures a second, about \d+ s left"
    assert [re.fullmatch(pattern, line).group(1) for line in lines[:-1]] == ["10", "20", "23"]


def test_progress_on_a_terminal(folder: Path, capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # which makes rich take any stream for a terminal
    monkeypatch.setenv("COLUMNS", "120")
    with reporting(RichBars()):
        describe(find_pictures(folder), backbone("pixels"), batch=10)
    assert "pictures a second" in capfd.readouterr().err


def test_a_jpeg_gives_the_same_vector_in_every_way(tmp_path: Path, effnet):
    from foldwalk.descriptors import load_picture

    rng = np.random.default_rng(0)
    coarse = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8))
    coarse.resize((2000, 1500), Image.Resampling.BICUBIC).save(tmp_path / "large.jpg")
    (extracted,) = describe([tmp_path / "large.jpg"], effnet).vectors
    (direct,) = effnet.embed([load_picture(tmp_path / "large.jpg", short_side=effnet.short_side)])
    np.testing.assert_allclose(extracted, direct, atol=1e-5)
    (full,) = effnet.embed([load_picture(tmp_path / "large.jpg")])
    cosine = extracted @ full / np.linalg.norm(extracted) / np.linalg.norm(full)
    assert cosine > 0.999
