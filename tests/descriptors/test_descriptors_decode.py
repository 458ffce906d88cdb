"""Every kind of picture becomes plain RGB, the right way up; folders are walked with care."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from foldwalk.core.errors import MissingData
from foldwalk.descriptors import PICTURE_SUFFIXES, find_pictures, load_picture, thumbnail

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


def saved(picture: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def loaded(picture: Image.Image, kind: str, **options: object) -> np.ndarray:
    found = load_picture(saved(picture, kind, **options))
    assert found.mode == "RGB"
    return np.asarray(found)


def test_rgb_of_every_lossless_format():
    values = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    picture = Image.fromarray(values)
    for kind, options in (("PNG", {}), ("BMP", {}), ("TIFF", {}), ("PPM", {}), ("WEBP", {"lossless": True})):
        np.testing.assert_array_equal(loaded(picture, kind, **options), values, err_msg=kind)


def test_grey_and_two_colours():
    values = np.arange(0, 250, 10, dtype=np.uint8).reshape(5, 5)
    expected = np.repeat(values[:, :, None], 3, axis=2)
    np.testing.assert_array_equal(loaded(Image.fromarray(values), "PNG"), expected)
    np.testing.assert_array_equal(loaded(Image.fromarray(values), "PPM"), expected)  # which is a PGM then
    bilevel = Image.fromarray(values > 100)
    assert bilevel.mode == "1"
    np.testing.assert_array_equal(loaded(bilevel, "PNG")[:, :, 0], np.where(values > 100, 255, 0))


def test_palette():
    picture = Image.new("P", (2, 1))
    picture.putpalette([*RED, *BLUE])
    picture.putdata([1, 0])
    assert loaded(picture, "PNG").tolist() == [[list(BLUE), list(RED)]]
    assert loaded(picture, "GIF").tolist() == [[list(BLUE), list(RED)]]


def test_transparency_shows_white():
    rgba = Image.new("RGBA", (3, 1))
    rgba.putdata([(255, 0, 0, 255), (255, 0, 0, 0), (0, 0, 0, 51)])
    expected = [[list(RED), list(WHITE), [204, 204, 204]]]
    assert loaded(rgba, "PNG").tolist() == expected
    grey_alpha = Image.new("LA", (2, 1))
    grey_alpha.putdata([(0, 255), (0, 0)])
    assert loaded(grey_alpha, "PNG").tolist() == [[[0, 0, 0], list(WHITE)]]
    palette = Image.new("P", (2, 1))
    palette.putpalette([*RED, *BLUE])
    palette.putdata([0, 1])
    assert loaded(palette, "PNG", transparency=1).tolist() == [[list(RED), list(WHITE)]]
    assert loaded(palette, "PNG", transparency=bytes([255, 0])).tolist() == [[list(RED), list(WHITE)]]
    marked = Image.new("RGB", (2, 1))
    marked.putdata([RED, GREEN])
    assert loaded(marked, "PNG", transparency=GREEN).tolist() == [[list(RED), list(WHITE)]]


@pytest.mark.parametrize("kind", ["TIFF", "JPEG"])
def test_cmyk(kind: str):
    # No ink is white, all cyan takes the red away, black is black.
    picture = Image.new("CMYK", (48, 16))
    picture.paste((255, 0, 0, 0), (16, 0, 32, 16))
    picture.paste((0, 0, 0, 255), (32, 0, 48, 16))
    options = {"quality": 100} if kind == "JPEG" else {}
    found = loaded(picture, kind, **options).astype(int)
    for x, colour in ((8, WHITE), (24, (0, 255, 255)), (40, (0, 0, 0))):
        assert np.abs(found[8, x] - colour).max() <= 3


def test_sixteen_bits_keep_black_grey_and_white():
    values = np.array([[0, 257, 128 * 257, 65_535]], dtype=np.uint16)
    expected = [[0, 1, 128, 255]]
    picture = Image.fromarray(values)
    assert picture.mode == "I;16"
    for kind in ("PNG", "TIFF"):
        assert loaded(picture, kind)[:, :, 0].tolist() == expected, kind
    pgm = b"P5 4 1 65535\n" + values.astype(">u2").tobytes()
    assert np.asarray(load_picture(pgm))[:, :, 0].tolist() == expected
    dim = Image.fromarray(np.full((2, 2), 257 * 7, dtype=np.uint16))  # not stretched: it is dark
    assert (loaded(dim, "PNG") == 7).all()


def test_deeper_values_are_stretched():
    floats = Image.fromarray(np.array([[-1.0, 0.0, 1.0]], dtype=np.float32))
    assert loaded(floats, "TIFF")[:, :, 0].tolist() == [[0, 128, 255]]
    integers = Image.fromarray(np.array([[0, 1_000_000]], dtype=np.int32))
    assert loaded(integers, "TIFF")[:, :, 0].tolist() == [[0, 255]]
    flat = Image.fromarray(np.full((2, 2), 0.5, dtype=np.float32))
    assert (loaded(flat, "TIFF") == 0).all()
    holes = Image.fromarray(np.array([[np.nan, np.inf, 1.0]], dtype=np.float32))
    assert loaded(holes, "TIFF")[:, :, 0].tolist() == [[0, 0, 255]]


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_first_frame_of_an_animation(kind: str):
    frames = [Image.new("RGB", (8, 8), colour) for colour in (RED, BLUE, GREEN)]
    options = {"lossless": True} if kind == "WEBP" else {}
    assert (loaded(frames[0], kind, save_all=True, append_images=frames[1:], **options) == RED).all()


UPRIGHT = np.arange(6, dtype=np.uint8).reshape(2, 3) * 40
# How a camera stores the upright picture when it notes orientation o (EXIF 2.3, tag 0x0112).
STORED = {
    1: UPRIGHT,
    2: UPRIGHT[:, ::-1],
    3: UPRIGHT[::-1, ::-1],
    4: UPRIGHT[::-1],
    5: UPRIGHT.T,
    6: np.rot90(UPRIGHT),
    7: UPRIGHT[::-1, ::-1].T,
    8: np.rot90(UPRIGHT, -1),
}


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "WEBP"])
@pytest.mark.parametrize("orientation", STORED)
def test_exif_orientation(orientation: int, kind: str):
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = Image.fromarray(np.ascontiguousarray(STORED[orientation])).convert("RGB")
    options = {"lossless": True} if kind == "WEBP" else {}
    np.testing.assert_array_equal(loaded(stored, kind, exif=exif, **options)[:, :, 0], UPRIGHT)


def test_exif_orientation_of_a_jpeg_at_reduced_size_and_of_sixteen_bits():
    exif = Image.Exif()
    exif[0x0112] = 6
    wide = Image.new("RGB", (800, 400), BLUE)
    wide.paste(RED, (0, 0, 400, 400))  # left as stored: on top once it is turned clockwise
    found = load_picture(saved(wide, "JPEG", exif=exif), short_side=100)
    assert found.size == (100, 200)
    assert np.abs(np.asarray(found)[20, 50].astype(int) - RED).max() < 10
    assert np.abs(np.asarray(found)[180, 50].astype(int) - BLUE).max() < 10
    deep = Image.fromarray(np.array([[0, 65_535]], dtype=np.uint16))
    assert loaded(deep, "PNG", exif=exif)[:, :, 0].tolist() == [[0], [255]]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "exif", [b"Exif\0\0garbage", b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0MM\0*\0\0\0\x08\xff"]
)
def test_broken_exif_is_no_reason_to_refuse(exif: bytes):
    assert loaded(Image.new("RGB", (16, 8), RED), "JPEG", exif=exif).shape == (8, 16, 3)


def test_short_side_lets_jpegs_shrink_but_not_below_it():
    ramp = np.linspace(0, 255, 1000).astype(np.uint8)
    picture = Image.fromarray(np.broadcast_to(ramp, (600, 1000)).copy()).convert("RGB")
    jpeg = saved(picture, "JPEG")
    sizes = {side: load_picture(jpeg, short_side=side).size for side in (None, 600, 301, 300, 150, 10)}
    assert sizes == {
        None: (1000, 600),
        600: (1000, 600),
        301: (1000, 600),
        300: (500, 300),
        150: (250, 150),
        10: (125, 75),
    }
    small = np.asarray(load_picture(jpeg, short_side=10))[40, :, 0].astype(float)
    assert np.abs(small - np.linspace(0, 255, 125)).max() < 4
    assert load_picture(saved(picture, "PNG"), short_side=10).size == (1000, 600)


def test_the_picture_stays_usable_after_its_file_is_closed(tmp_path: Path):
    path = tmp_path / "a.png"
    Image.new("RGB", (3, 2), BLUE).save(path)
    picture = load_picture(str(path))
    path.unlink()
    assert picture.getpixel((2, 1)) == BLUE


def test_find_pictures(tmp_path: Path):
    inside, outside = tmp_path / "photos", tmp_path / "elsewhere"
    for folder in (inside / "b", inside / ".hidden", inside / "folder.jpg", outside):
        folder.mkdir(parents=True)
    for name in ("z.JPG", "b/a.png", "b/.secret.png", ".hidden/x.jpg", "notes.txt", "b/c.Tiff"):
        (inside / name).write_bytes(b"x")
    (outside / "private.jpg").write_bytes(b"x")
    (inside / "leads_out.jpg").symlink_to(outside / "private.jpg")
    (inside / "folder_out").symlink_to(outside)
    (inside / "round").symlink_to(inside)
    (inside / "same.jpg").symlink_to(inside / "z.JPG")
    (inside / "nowhere.jpg").symlink_to(inside / "gone.jpg")
    expected = ["b/a.png", "b/c.Tiff", "same.jpg", "z.JPG"]
    assert [path.relative_to(inside).as_posix() for path in find_pictures(inside)] == expected
    (tmp_path / "link").symlink_to(inside)
    assert len(find_pictures(str(tmp_path / "link"))) == 4
    with pytest.raises(MissingData, match="not a folder"):
        find_pictures(inside / "notes.txt")


def test_links_in_circles_and_pipes_hold_nobody_up(tmp_path: Path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    Image.new("RGB", (2, 2)).save(tmp_path / "a" / "b" / "1.png")
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path)
    (tmp_path / "self.png").symlink_to(tmp_path / "self.png")
    (tmp_path / "one.png").symlink_to(tmp_path / "other.png")
    (tmp_path / "other.png").symlink_to(tmp_path / "one.png")
    (tmp_path / "folder.png").symlink_to(tmp_path / "a")
    (tmp_path / "gone.png").symlink_to(tmp_path / "nothing.png")
    os.mkfifo(tmp_path / "pipe.png")
    assert find_pictures(tmp_path) == [tmp_path / "a" / "b" / "1.png"]


def test_suffixes_are_lower_case_with_a_dot():
    assert {".jpg", ".jpeg", ".png", ".gif", ".webp", ".tif", ".bmp", ".pgm"} <= PICTURE_SUFFIXES
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in PICTURE_SUFFIXES)


FAKE_HEIF = """
from PIL import Image, ImageFile

class Heif(ImageFile.ImageFile):
    format = "HEIF"
    def _open(self):
        self._size, self._mode = (2, 1), "RGB"
        self.tile = [ImageFile._Tile("raw", (0, 0, 2, 1), 8, ("RGB", 0, 1))]

def register_heif_opener():
    Image.register_open("HEIF", Heif, lambda prefix: prefix.startswith(b"HEIFHEIF"))
"""
READ_HEIF = """
import sys
from foldwalk.descriptors import Unreadable, find_pictures, load_picture
try:
    print(load_picture(b"HEIFHEIF" + bytes([1, 2, 3, 4, 5, 6])).getpixel((1, 0)), end=" ")
except Unreadable as reason:
    print(reason, end=" ")
print(len(find_pictures(sys.argv[1])))
"""


@pytest.mark.parametrize("there", [False, True])
def test_heic_where_its_plug_in_is_there(tmp_path: Path, there: bool):
    plug_in = tmp_path / "lib"
    plug_in.mkdir()
    if there:
        (plug_in / "pillow_heif.py").write_text(FAKE_HEIF)
    elif find_spec("pillow_heif"):
        pytest.skip("pillow_heif is installed")
    (tmp_path / "a.heic").write_bytes(b"x")
    done = subprocess.run(
        [sys.executable, "-c", READ_HEIF, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(plug_in)},
        capture_output=True,
        text=True,
        check=True,
    )
    expected = "(4, 5, 6) 1" if there else "it is not a picture of a known format. 0"
    assert done.stdout.strip() == expected


def test_thumbnail():
    picture = Image.new("RGB", (1000, 500), RED)
    small = Image.open(io.BytesIO(thumbnail(picture)))
    assert (small.format, small.size) == ("JPEG", (256, 128))
    assert np.abs(np.asarray(small).astype(int) - RED).max() < 5
    assert picture.size == (1000, 500)
    tiny = Image.open(io.BytesIO(thumbnail(Image.new("L", (10, 20)), side=100)))
    assert (tiny.size, tiny.mode) == ((10, 20), "RGB")  # never enlarged
