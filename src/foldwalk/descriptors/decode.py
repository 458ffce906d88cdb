"""Files to pictures, without trusting the files: limits first, then decoding, then one plain RGB picture.

The size is read from the header and checked before a single pixel is decoded, only formats that hold pictures
are tried (no PostScript, which would be run), and whatever goes wrong becomes `Unreadable` with its reason.
"""

from __future__ import annotations

import io
import os
import stat
import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from foldwalk.core.errors import BadInput, BadParameter, MissingData

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "JPEG2000", "AVIF", "HEIF")
PICTURE_SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".pgm", ".ppm", ".pbm", ".pnm"}
    | {".jp2", ".avif"}
    | ({".heic", ".heif"} if find_spec("pillow_heif") else set())
)
Source = Path | str | bytes | BinaryIO

# Limits decides what is too large; Pillow's warning at its own, fixed size would only repeat it on stderr.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)


class Unreadable(BadInput):
    """A file that cannot be used as a picture; the message is the reason."""


@dataclass(frozen=True)
class Limits:
    """The most pixels a picture may have and the most bytes its file may have."""

    pixels: int = 80_000_000
    bytes: int = 100_000_000

    def __post_init__(self) -> None:
        for name, value in (("pixels", self.pixels), ("bytes", self.bytes)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise BadParameter(f"limits: {name} must be a whole number above 0, but it is {value!r}.")


DEFAULT_LIMITS = Limits()


def load_picture(
    source: Source, limits: Limits = DEFAULT_LIMITS, short_side: int | None = None
) -> Image.Image:
    """The picture in RGB, turned as its EXIF data says, transparency on white, the first frame of several.

    With `short_side` a JPEG may come back smaller, by 2, 4 or 8, but neither side below `short_side`: its
    decoder then skips most of the work.
    """
    with _opened(source, limits) as file:
        try:
            with Image.open(file, formats=_formats()) as picture:
                _check_size(picture.size, limits)
                if short_side is not None:
                    picture.draft(None, (short_side, short_side))
                picture.load()
                _turn_upright(picture)
                return _as_rgb(picture)
        except Unreadable:
            raise
        except UnidentifiedImageError:
            raise Unreadable("it is not a picture of a known format.") from None
        except Image.DecompressionBombError:
            raise Unreadable("it has more pixels than PIL.Image.MAX_IMAGE_PIXELS lets through.") from None
        except MemoryError:
            raise Unreadable("it does not fit into memory.") from None
        except Exception as error:  # broken bytes lead the decoders to errors of any kind
            raise Unreadable(f"it cannot be decoded: {_sentence(error)}.") from None


def read_picture_file(path: Path, limits: Limits = DEFAULT_LIMITS) -> bytes:
    """The bytes of a file that may be a picture, for `load_picture`; what cannot be one is `Unreadable`."""
    with _opened(path, limits) as file:
        try:
            content = file.read(limits.bytes + 1)
        except OSError as error:
            raise Unreadable(f"it cannot be read: {error.strerror}.") from None
    _check_bytes(len(content), limits)
    return content


def find_pictures(folder: Path | str) -> list[Path]:
    """All pictures below a folder, sorted, without hidden files and links that lead out of the folder."""
    top = Path(folder)
    if not top.is_dir():
        raise MissingData(f"{top} is not a folder.")
    home = top.resolve()
    found = []
    for where, folders, files in os.walk(top):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = Path(where, name)
            if name.startswith(".") or path.suffix.lower() not in PICTURE_SUFFIXES:
                continue
            if path.is_file() and (not path.is_symlink() or path.resolve().is_relative_to(home)):
                found.append(path)
    return sorted(found)


def thumbnail(picture: Image.Image, side: int = 256) -> bytes:
    """The picture as a small JPEG whose longer side is at most `side`."""
    small = picture.convert("RGB")  # a copy: Image.thumbnail works in place
    small.thumbnail((side, side), Image.Resampling.BICUBIC)
    out = io.BytesIO()
    small.save(out, "JPEG", quality=85)
    return out.getvalue()


@cache
def _formats() -> tuple[str, ...]:
    if find_spec("pillow_heif"):
        import_module("pillow_heif").register_heif_opener()
    Image.init()
    return tuple(name for name in FORMATS if name in Image.OPEN)


def _opened(source: Source, limits: Limits) -> BinaryIO:
    """The source as an open file of at most `limits.bytes`."""
    if not isinstance(source, (str, Path)):
        content = source if isinstance(source, bytes) else source.read(limits.bytes + 1)
        _check_bytes(len(content), limits)
        return io.BytesIO(content)
    try:
        status = os.stat(source)
        if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for ever
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "no regular file"
            raise Unreadable(f"it is {kind}.")
        _check_bytes(status.st_size, limits)
        return open(source, "rb")
    except Unreadable:
        raise
    except (OSError, ValueError) as error:
        raise Unreadable(f"it cannot be opened: {getattr(error, 'strerror', error)}.") from None


def _check_bytes(size: int, limits: Limits) -> None:
    if size == 0:
        raise Unreadable("it is empty.")
    if size > limits.bytes:
        raise Unreadable(f"it is larger than {limits.bytes:,} bytes.")


def _check_size(size: tuple[int, int], limits: Limits) -> None:
    width, height = size
    if width < 1 or height < 1:
        raise Unreadable(f"it is {width} x {height} pixels, which is no picture.")
    if width * height > limits.pixels:
        raise Unreadable(f"it is {width} x {height}, more than {limits.pixels:,} pixels.")


def _as_rgb(picture: Image.Image) -> Image.Image:
    if picture.mode.startswith(("I", "F")):
        return _eight_bits(picture).convert("RGB")
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        white = Image.new("RGBA", picture.size, "white")
        return Image.alpha_composite(white, picture).convert("RGB")
    return picture.convert("RGB")


def _eight_bits(picture: Image.Image) -> Image.Image:
    """Grey values of 16 bits as 8 bits; anything else (32 bits, floats) stretched from its least to its most.

    65,535 / 255 = 257: black stays black and white stays white.
    """
    values = np.nan_to_num(np.asarray(picture, dtype=np.float64), posinf=0.0, neginf=0.0)
    least, most = float(values.min()), float(values.max())
    if picture.mode.startswith("I") and least >= 0 and most <= 65_535:
        least, most = 0.0, 65_535.0
    span = (most - least) or 1.0
    return Image.fromarray(np.round((values - least) * (255 / span)).astype(np.uint8))


def _turn_upright(picture: Image.Image) -> None:
    # A picture with broken EXIF data is still a picture.
    with suppress(Exception):
        ImageOps.exif_transpose(picture, in_place=True)


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
