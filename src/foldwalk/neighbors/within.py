"""Candidates for the nearest neighbours within one set: each product of two items serves both.

    s(i, j) = x_i x_j - half_i - half_j,   half = 0 for the cosine, |x|^2 / 2 for Euclidean distances

A sample of the items goes first: its products with an item set that item's floor, above which some more items
than are wanted can be expected. Then the blocks above the diagonal are multiplied; their columns are offered
to the items of their rows, their rows to those of their columns. Few products lie above the floors, and
whether any of a group does, its maximum tells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from foldwalk.core.seeds import generator
from foldwalk.core.types import Float32Array, Int32Array, IntArray
from foldwalk.neighbors.offers import GROUP, offer_columns, offer_rows, set_floors, trim_all

SAMPLED = 8  # one item of so many
ROWS, COLUMNS = 512, 4_000  # of a block: 8 MB of products, what the caches hold


class Lists(NamedTuple):
    """What is known of each item: others above its floor (the first `sizes` count), and the farthest."""

    values: Float32Array
    ids: Int32Array
    sizes: IntArray
    floors: Float32Array
    lowest: Float32Array
    farthest: IntArray


def nearest_within(
    vectors: Float32Array,
    half: Float32Array | None,
    width: int,
    with_farthest: bool,
    advance: Callable[[int], None],
) -> tuple[Int32Array, IntArray]:
    """For each i the ids of the `width` largest s(i, j), itself included, in any order; the id of the least.

    A row of -1 stands where the sample was misleading and the floor too high.
    """
    n = len(vectors)
    sample = np.sort(generator(0, "sample").permutation(n)[: n // SAMPLED])
    order = np.concatenate([sample, np.setdiff1d(np.arange(n), sample)])
    lists = Lists(
        values=np.empty((n, 2 * width + GROUP), np.float32),
        ids=np.zeros((n, 2 * width + GROUP), np.int32),
        sizes=np.zeros(n, np.int64),
        floors=np.empty(n, np.float32),
        lowest=np.full(n, np.inf if with_farthest else -np.inf, np.float32),
        farthest=np.zeros(n, np.int64),
    )
    _fill(lists, vectors[order], None if half is None else half[order], len(sample), width, advance)
    ids, farthest = np.empty((n, width), np.int32), np.empty(n, np.int64)
    ids[order] = np.where(lists.sizes[:, None] < width, -1, order[lists.ids[:, :width]])
    farthest[order] = order[lists.farthest]
    return ids, farthest


def _fill(
    lists: Lists,
    vectors: Float32Array,
    half: Float32Array | None,
    sampled: int,
    width: int,
    advance: Callable[[int], None],
) -> None:
    """The sample are the first so many vectors."""
    n = len(vectors)
    room = np.empty(ROWS * max(ROWS, COLUMNS, sampled), np.float32)

    def products(rows: slice, columns: slice) -> Float32Array:
        a, b = vectors[rows], vectors[columns]
        block = np.matmul(a, b.T, out=room[: len(a) * len(b)].reshape(len(a), len(b)))
        if half is not None:
            block -= half[rows, None]
            block -= half[columns]
        return block

    # So many of the sample as there are of `width` on average, and three standard deviations more.
    share = width * sampled / n
    rank = int(share + 3 * share**0.5 + 2)
    for first in (*range(0, sampled, ROWS), *range(sampled, n, ROWS)):
        last = min(first + ROWS, sampled if first < sampled else n)
        block = products(slice(first, last), slice(0, sampled))
        set_floors(block, rank, lists.floors[first:last])
        offer_columns(block, first, 0, width, *lists)
        if first >= sampled:
            offer_rows(block, first, 0, width, *lists)
    advance(sampled)
    for first in range(sampled, n, ROWS):
        last = min(first + ROWS, n)
        offer_columns(products(slice(first, last), slice(first, last)), first, first, width, *lists)
        for begin in range(last, n, COLUMNS):
            block = products(slice(first, last), slice(begin, begin + COLUMNS))
            offer_columns(block, first, begin, width, *lists)
            offer_rows(block, first, begin, width, *lists)
        advance(last - first)
    trim_all(*lists[:3], width)
