"""Folders of pictures for tests of what is not one: good files, and broken ones of ten kinds."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image


def picture(seed: int, side: int = 48) -> Image.Image:
    values = np.random.default_rng(seed).integers(0, 255, (6, 6, 3), dtype=np.uint8)
    return Image.fromarray(values).resize((side, side), Image.Resampling.BICUBIC)


def encoded(seed: int, kind: str) -> bytes:
    out = io.BytesIO()
    picture(seed).save(out, kind)
    return out.getvalue()


def write_good(folder: Path, count: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(count):
        kind, suffix = (("PNG", "png"), ("JPEG", "jpg"), ("GIF", "gif"))[i % 3]
        (folder / f"good{i:04d}.{suffix}").write_bytes(encoded(i, kind))


def _bomb(_: int) -> bytes:
    """A PNG that claims 60,000 x 60,000 pixels."""
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    start = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return start + b"\0\0\0\0IEND\xaeB`\x82"


def _flipped_png(seed: int) -> bytes:
    """A PNG whose pixels were hit in the middle."""
    content = bytearray(encoded(seed, "PNG"))
    at = content.index(b"IDAT") + 8
    content[at : at + 40] = bytes(40)
    return bytes(content)


def _half(kind: str) -> Callable[[int], bytes]:
    return lambda seed: encoded(seed, kind)[: len(encoded(seed, kind)) // 2]


# Name of the kind: the suffix of its files, and how their content is made.
KINDS: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "empty": ("jpg", lambda _: b""),
    "text": ("png", lambda seed: f"this is no picture, {seed}\n".encode() * 20),
    "random bytes": ("jpg", lambda seed: np.random.default_rng(seed).bytes(3000)),
    "zero bytes": ("png", lambda _: bytes(4096)),
    "half a JPEG": ("jpg", _half("JPEG")),
    "half a PNG": ("png", _half("PNG")),
    "the head of a JPEG": ("jpg", lambda seed: encoded(seed, "JPEG")[:20]),
    "damaged pixels": ("png", _flipped_png),
    "too many pixels": ("png", _bomb),
    "a web page": ("gif", lambda _: b"<!doctype html><title>404</title><p>Not found"),
}


def write_broken(folder: Path, count: int) -> dict[str, str]:
    """Write broken files; returns the kind of each by its name."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for i in range(count):
        kind = list(KINDS)[i % len(KINDS)]
        suffix, make = KINDS[kind]
        name = f"broken{i:04d}.{suffix}"
        (folder / name).write_bytes(make(i))
        written[name] = kind
    return written
