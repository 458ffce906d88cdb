"""Queries with what each method finds first, as pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont, ImageOps

from foldwalk.core.types import Float64Array
from foldwalk.measure.jobs import Details

GREEN, RED, INK, PAPER = (26, 135, 84), (200, 45, 45), (30, 32, 36), (255, 255, 255)


@dataclass(frozen=True)
class Strip:
    """One line of a montage: a label, the pictures, and which of them are right."""

    label: str
    pictures: Sequence[Image.Image | None]
    right: Sequence[bool]


def visible_change(plain: Details, other: Details) -> Float64Array:
    """How much each query changes: right ones gained among the first ten, then the gain of its figure.

    The figure lies between 0 and 1, so it decides only where the first ten are equally good: a picture of two
    faultless rows says nothing, however much they differ further down. 0 for queries without positives.
    """
    gained = other.right.sum(axis=1) - plain.right.sum(axis=1)
    return np.asarray(np.nan_to_num(gained + other.per_query - plain.per_query, nan=0.0))


def telling_queries(changes: Sequence[Float64Array], count: int = 3) -> list[int]:
    """Queries that change most under any method, largest first, and always the one that loses most.

    `changes` holds one array per method, a number per query.
    """
    if not changes:
        return []
    table = np.stack(changes)
    largest = np.abs(table).max(axis=0)
    order = np.argsort(-largest, kind="stable")
    chosen = [int(q) for q in order[:count] if largest[q] > 0]
    worst = int(table.min(axis=0).argmin())
    if table[:, worst].min() < 0 and worst not in chosen:
        chosen.append(worst)
    return chosen


def thumbnail(picture: Image.Image, size: int) -> Image.Image:
    """The picture within a square on white, small ones enlarged without blurring."""
    resample = Image.Resampling.NEAREST if max(picture.size) < size else Image.Resampling.LANCZOS
    return ImageOps.pad(picture.convert("RGB"), (size, size), method=resample, color=PAPER)


def data_uri(picture: Image.Image, size: int = 72) -> str:
    """A small JPEG, ready for the src of an <img>."""
    buffer = io.BytesIO()
    thumbnail(picture, size).save(buffer, "JPEG", quality=82)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def sheet(
    query: Image.Image | None, strips: Sequence[Strip], size: int = 84, called: str = "query"
) -> Image.Image:
    """The query at the left, one line of framed pictures per strip; green frames are right, red wrong."""
    gap, frame, line = 8, 4, 26
    cell = size + 2 * frame + gap
    height = len(strips) * (line + cell) + gap
    width = gap + 2 * cell + max(len(s.pictures) for s in strips) * cell
    canvas = Image.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(canvas)
    font = ImageFont.load_default(16)
    draw.text((gap, 4), called, fill=INK, font=font)
    _paste(canvas, query, (gap, line), size, frame, INK)
    for row, strip in enumerate(strips):
        top = row * (line + cell)
        draw.text((gap + 2 * cell, top + 4), strip.label, fill=INK, font=font)
        for column, (picture, right) in enumerate(zip(strip.pictures, strip.right, strict=True)):
            corner = (gap + (2 + column) * cell, top + line)
            _paste(canvas, picture, corner, size, frame, GREEN if right else RED)
    return canvas


def _paste(
    canvas: Image.Image,
    picture: Image.Image | None,
    corner: tuple[int, int],
    size: int,
    frame: int,
    colour: tuple[int, int, int],
) -> None:
    if picture is not None:
        canvas.paste(ImageOps.expand(thumbnail(picture, size), border=frame, fill=colour), corner)
