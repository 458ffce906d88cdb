"""Mined examples as pictures, for a person to judge: do the positives show what the anchor shows?"""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
from PIL import Image

from foldwalk.core.seeds import generator
from foldwalk.core.types import IntArray
from foldwalk.learn.mining.pools import Pools
from foldwalk.report.montage import PAPER, Strip, sheet

ANCHORS, EXAMPLES, SIZE = 8, 6, 84
NEARER = "positives: far, yet on the same manifold"
APART = "negatives: near, yet on another"


def contact_sheet(pools: Pools, picture: Callable[[int], Image.Image | None]) -> bytes:
    """A JPEG: a few anchors, drawn at random of those that have both pools, and the first of either.

    `picture` gives that of an item by its number. Green frames should come nearer, red ones go apart.
    """
    parts = [_row(pools, row, picture) for row in _chosen(pools).tolist()]
    canvas = Image.new("RGB", (max(p.width for p in parts), sum(p.height for p in parts)), PAPER)
    top = 0
    for part in parts:
        canvas.paste(part, (0, top))
        top += part.height
    out = io.BytesIO()
    canvas.save(out, "JPEG", quality=85)
    return out.getvalue()


def has_both(pools: Pools) -> IntArray:
    """The rows of anchors with a positive and a negative."""
    return np.flatnonzero((pools.positive_counts > 0) & (pools.negative_counts > 0))


def _chosen(pools: Pools) -> IntArray:
    rows = has_both(pools)
    count = min(ANCHORS, len(rows))
    return np.sort(generator(0, "anchors to show").choice(rows, count, replace=False))


def _row(pools: Pools, row: int, picture: Callable[[int], Image.Image | None]) -> Image.Image:
    strips = []
    for label, ids, right in ((NEARER, pools.positives, True), (APART, pools.negatives, False)):
        shown = [int(item) for item in ids[row][:EXAMPLES] if item >= 0]
        strips.append(Strip(label, [picture(item) for item in shown], [right] * len(shown)))
    return sheet(picture(int(pools.anchors[row])), strips, SIZE, "anchor")
