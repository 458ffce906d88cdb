"""Files that are no pictures: each raises Unreadable with its reason, and none stops an extraction."""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFile

from foldwalk.core.errors import BadInput, BadParameter
from foldwalk.descriptors import Limits, Unreadable, backbone, describe, limits, load_picture
from foldwalk.machine.peak_memory import PeakMemory


def noise(width: int = 64, height: int = 48) -> Image.Image:
    rng = np.random.default_rng(0)
    return Image.fromarray(rng.integers(0, 256, (height, width, 3), dtype=np.uint8))


def encoded(kind: str, picture: Image.Image | None = None) -> bytes:
    out = io.BytesIO()
    (picture or noise()).save(out, kind)
    return out.getvalue()


def png_of(width: int, height: int) -> bytes:
    """A PNG whose header promises a size and whose data holds next to nothing."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(b"\0" * 100)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def broken_chunk() -> bytes:
    content = bytearray(encoded("PNG"))
    at = content.index(b"IDAT") + 4 + 500
    content[at : at + 200] = bytes(200)
    return bytes(content)


BROKEN: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty.jpg": (lambda: b"", "empty"),
    "truncated.jpg": (lambda: encoded("JPEG")[:1500], "truncated"),
    "only_the_header.jpg": (lambda: encoded("JPEG")[:20], "not a picture|cannot be decoded"),
    "text.jpg": (lambda: b"Dear reader, this is a letter.\n" * 50, "not a picture"),
    "wrong_header.png": (lambda: b"\x89PNX" + encoded("PNG")[4:], "not a picture"),
    "broken_chunk.png": (broken_chunk, "cannot be decoded"),
    "truncated.png": (lambda: encoded("PNG")[:3000], "truncated"),
    "bomb.png": (lambda: png_of(100_000, 100_000), "pixels"),
    "small_bomb.png": (lambda: png_of(8_000, 10_001), "8000 x 10001, more than 80,000,000 pixels"),
    "zero_size.pgm": (lambda: b"P5 0 7 255\n", "no picture|cannot be decoded|not a picture"),
    "zero_size.png": (lambda: png_of(0, 5), "no picture|cannot be decoded|not a picture"),
    "random.jpg": (lambda: np.random.default_rng(1).bytes(5_000), "not a picture"),
    "truncated.gif": (lambda: encoded("GIF")[:60], "cannot be decoded|not a picture"),
    "truncated.webp": (lambda: encoded("WEBP")[:200], "cannot be decoded|not a picture"),
    "truncated.tif": (lambda: encoded("TIFF")[:300], "cannot be decoded|not a picture"),
    "postscript.jpg": (
        lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage\n",
        "not a picture",
    ),
}


@pytest.fixture
def broken_folder(tmp_path: Path) -> Path:
    for name, (content, _) in BROKEN.items():
        (tmp_path / name).write_bytes(content())
    (tmp_path / "folder.jpg").mkdir()
    return tmp_path


@pytest.mark.parametrize("name", BROKEN)
def test_the_reason_is_one_sentence(broken_folder: Path, name: str):
    with pytest.raises(Unreadable, match=BROKEN[name][1]) as caught:
        load_picture(broken_folder / name)
    reason = str(caught.value)
    assert reason.startswith("it ")
    assert reason.endswith(".")
    assert "\n" not in reason
    assert isinstance(caught.value, BadInput)


@pytest.mark.parametrize("name", BROKEN)
def test_bytes_and_open_files_are_treated_like_paths(broken_folder: Path, name: str):
    content = (broken_folder / name).read_bytes()
    with pytest.raises(Unreadable, match=BROKEN[name][1]):
        load_picture(content)
    with (broken_folder / name).open("rb") as file, pytest.raises(Unreadable, match=BROKEN[name][1]):
        load_picture(file)


def test_what_is_no_file(tmp_path: Path):
    (tmp_path / "folder.jpg").mkdir()
    os.mkfifo(tmp_path / "pipe.jpg")
    with pytest.raises(Unreadable, match="it is a folder"):
        load_picture(tmp_path / "folder.jpg")
    with pytest.raises(Unreadable, match="no regular file"):
        load_picture(tmp_path / "pipe.jpg")
    with pytest.raises(Unreadable, match="No such file"):
        load_picture(tmp_path / "nowhere.jpg")
    with pytest.raises(Unreadable, match="cannot be opened"):
        load_picture("nul\0byte.jpg")
    (tmp_path / "loop.jpg").symlink_to(tmp_path / "loop.jpg")
    with pytest.raises(Unreadable, match="cannot be opened"):
        load_picture(tmp_path / "loop.jpg")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read anything")
def test_a_file_that_may_not_be_read(tmp_path: Path):
    path = tmp_path / "secret.jpg"
    path.write_bytes(encoded("JPEG"))
    path.chmod(0)
    with pytest.raises(Unreadable, match="Permission denied"):
        load_picture(path)


def test_limits_of_bytes_and_pixels(tmp_path: Path):
    path = tmp_path / "fine.png"
    path.write_bytes(encoded("PNG"))
    size = path.stat().st_size
    assert load_picture(path, Limits(pixels=64 * 48, bytes=size)).size == (64, 48)
    with pytest.raises(Unreadable, match=f"larger than {size - 1:,} bytes"):
        load_picture(path, Limits(bytes=size - 1))
    with pytest.raises(Unreadable, match="larger than"):
        load_picture(path.read_bytes(), Limits(bytes=size - 1))
    with path.open("rb") as file, pytest.raises(Unreadable, match="larger than"):
        load_picture(file, Limits(bytes=size - 1))
    with pytest.raises(Unreadable, match="64 x 48, more than 3,071 pixels"):
        load_picture(path, Limits(pixels=64 * 48 - 1))
    for bad in ({"pixels": 0}, {"bytes": -1}, {"pixels": 2.5}, {"bytes": True}):
        with pytest.raises(BadParameter, match=next(iter(bad))):
            Limits(**bad)


def test_a_bomb_is_refused_before_decoding(monkeypatch):
    def never(_):
        raise AssertionError("it was decoded")

    monkeypatch.setattr(ImageFile.ImageFile, "load", never)
    with pytest.raises(Unreadable, match="more than 80,000,000 pixels"):
        load_picture(png_of(8_000, 10_001))
    with pytest.raises(Unreadable, match="it was decoded"):  # as one that is small enough is
        load_picture(png_of(80, 100))


def test_extraction_goes_on_and_lists_them_at_the_end(broken_folder: Path):
    for name in ("a_good.png", "z_good.jpg"):
        noise().save(broken_folder / name)
    paths = sorted(broken_folder.iterdir())
    described = describe(paths, backbone("pixels", size=(4, 4)), batch=5)
    assert [path.name for path in described.paths] == ["a_good.png", "z_good.jpg"]
    assert described.vectors.shape == (2, 16)
    assert {bad.path.name for bad in described.skipped} == {*BROKEN, "folder.jpg"}
    assert [bad.path for bad in described.skipped] == sorted(bad.path for bad in described.skipped)
    report = described.report().splitlines()
    assert report[0] == f"2 pictures described, {len(BROKEN) + 1} left out"
    assert f"  {broken_folder / 'empty.jpg'}: it is empty." in report
    assert len(report) == len(BROKEN) + 2


def test_a_long_strip_is_refused_before_it_is_decoded():
    for width, height in ((50_000_000, 1), (1, 50_000_000), (30_001, 2)):
        with (
            PeakMemory() as peak,
            pytest.raises(Unreadable, match="more than 30,000 pixels along a side"),
        ):
            load_picture(png_of(width, height))
        assert not peak.megabytes > 50
    assert load_picture(encoded("PNG", Image.new("RGB", (30_000, 2)))).size == (30_000, 2)


def many_scans(scans: int) -> bytes:
    """A progressive JPEG whose last scan is sent again and again, empty."""
    out = io.BytesIO()
    noise(640, 480).save(out, "JPEG", progressive=True)
    content = out.getvalue()
    begin = content.rindex(b"\xff\xda")
    head = content[begin : begin + 2 + int.from_bytes(content[begin + 2 : begin + 4], "big")]
    return content[:-2] + (head + b"\x00") * scans + content[-2:]


def test_a_jpeg_of_thousands_of_scans_is_refused():
    assert load_picture(many_scans(0)).size == (640, 480)
    with pytest.raises(Unreadable, match=r"^it is a JPEG of 5,010 scans, which"):
        load_picture(many_scans(5000))
    few = Limits(pixels=640 * 480)
    assert load_picture(many_scans(0), few).size == (640, 480)
    with pytest.raises(Unreadable, match="scans"):
        load_picture(many_scans(15), few)


def test_scans_are_counted_across_pieces_of_a_file(monkeypatch):
    content = many_scans(3)
    whole = limits.count_scans(io.BytesIO(content))
    monkeypatch.setattr(limits, "CHUNK", 7)
    assert limits.count_scans(io.BytesIO(content)) == whole == 13
    assert limits.count_scans(io.BytesIO(encoded("PNG"))) == 0


@pytest.mark.parametrize("mode", ["I;16", "RGBA", "F", "P"])
def test_converting_takes_little_more_than_the_picture(mode):
    """By strips: 16 bits by way of 64 would take four times as much."""
    if mode == "I;16":
        picture = Image.fromarray(np.zeros((3000, 3000), np.uint16))
    elif mode == "P":
        picture = Image.new("P", (3000, 3000))
        picture.info["transparency"] = 0
    else:
        picture = Image.new(mode, (3000, 3000))
    content = encoded("TIFF" if mode == "F" else "PNG", picture)
    with PeakMemory() as peak:
        assert load_picture(content).size == (3000, 3000)
    assert not peak.megabytes > 150  # 9 million pixels of four bytes, twice, and a strip


def test_metadata_that_unpack_to_much_do_not():
    bomb = zlib.compress(bytes(50_000_000), 9)
    content = encoded("PNG")

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    for name, data in (
        (b"zTXt", b"c\0\0" + bomb),
        (b"iTXt", b"c\0\1\0\0\0" + bomb),
        (b"iCCP", b"c\0\0" + bomb),
    ):
        with PeakMemory() as peak, suppress(Unreadable):
            load_picture(content[:33] + chunk(name, data) + content[33:])
        assert not peak.megabytes > 40
