"""Small pictures of many items in one, so that a map of thousands needs one request."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence

from PIL import Image, ImageOps

SIDE = 32  # pixels of a small picture


def contact_sheet(thumbnails: Sequence[bytes | None]) -> bytes:
    """Small pictures in rows of `sheet_columns`, as one JPEG; nothing where no item has a picture."""
    if not any(thumbnails):
        return b""
    columns = sheet_columns(len(thumbnails))
    sheet = Image.new("RGB", (columns * SIDE, math.ceil(len(thumbnails) / columns) * SIDE), "gray")
    for place, content in enumerate(thumbnails):
        if content is None:
            continue
        try:
            with Image.open(io.BytesIO(content), formats=("JPEG",)) as picture:
                picture.draft("RGB", (2 * SIDE, 2 * SIDE))
                small = ImageOps.fit(picture.convert("RGB"), (SIDE, SIDE))
        except (OSError, SyntaxError, ValueError):  # no thumbnail of ours: its place stays grey
            continue
        sheet.paste(small, (place % columns * SIDE, place // columns * SIDE))
    buffer = io.BytesIO()
    sheet.save(buffer, "JPEG", quality=85)
    return buffer.getvalue()


def sheet_columns(count: int) -> int:
    return math.ceil(math.sqrt(count))
