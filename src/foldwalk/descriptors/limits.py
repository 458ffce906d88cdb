"""What a picture may cost: looked up in its head before a pixel is decoded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

from foldwalk.core.errors import BadInput, BadParameter

JPEG_START, SCAN = b"\xff\xd8", b"\xff\xda"
CHUNK = 2**20


class Unreadable(BadInput):
    """A file that cannot be used as a picture; the message is the reason."""


@dataclass(frozen=True)
class Limits:
    """The most pixels, bytes of the file, pixels along a side, and scans that a picture may have.

    A decoded pixel takes four bytes at most. A JPEG may send the whole picture again in every scan: their
    number counts, and a large picture may have `pixels` twenty times over in all its scans.
    """

    pixels: int = 80_000_000
    bytes: int = 100_000_000
    side: int = 30_000
    scans: int = 100

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise BadParameter(f"limits: {name} must be a whole number above 0, but it is {value!r}.")

    def check_bytes(self, size: int) -> None:
        if size == 0:
            raise Unreadable("it is empty.")
        if size > self.bytes:
            raise Unreadable(f"it is larger than {self.bytes:,} bytes.")

    def check_size(self, width: int, height: int) -> None:
        if width < 1 or height < 1:
            raise Unreadable(f"it is {width} x {height} pixels, which is no picture.")
        if width * height > self.pixels:
            raise Unreadable(f"it is {width} x {height}, more than {self.pixels:,} pixels.")
        if max(width, height) > self.side:
            raise Unreadable(f"it is {width} x {height}, more than {self.side:,} pixels along a side.")

    def check_scans(self, scans: int, pixels: int) -> None:
        if scans > self.scans or scans * pixels > 20 * self.pixels:
            raise Unreadable(f"it is a JPEG of {scans:,} scans, which would take too long to decode.")


DEFAULT_LIMITS = Limits()


def count_scans(file: BinaryIO) -> int:
    """The scans of a JPEG, its preview's counted, too; 0 of anything else. The file is left where it was.

    Within a scan no byte of 255 is followed by that of a marker, so counting markers is counting scans.
    """
    place = file.tell()
    scans, before = 0, b""
    if file.read(2) == JPEG_START:
        while chunk := file.read(CHUNK):
            scans += (before + chunk).count(SCAN)
            before = chunk[-1:]
    file.seek(place)
    return scans
