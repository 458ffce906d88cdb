"""Candidates for the nearest neighbours within one set: each product of two items serves both.

    s(i, j) = x_i x_j - half_i - half_j,   half = 0 for the cosine, |x|^2 / 2 for Euclidean distances

A sample of the items goes first: its products with an item set that item's floor, above which some more items
than are wanted can be expected. Then every block of items is multiplied with every other, and with itself;
the products are offered to the items of both. Few lie above the floors.

Blocks meet in the rounds of a tournament, each at most once in a round, so that threads never offer to the
same item, and an item is offered the others in the same order whatever the number of threads. Each thread
multiplies by itself: threads within one matrix product wait for each other more than they work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import local
from typing import NamedTuple

import numba
import numpy as np

from foldwalk.core.products import one_thread_each
from foldwalk.core.seeds import generator
from foldwalk.core.types import Float32Array, Int32Array, IntArray
from foldwalk.neighbors.offers import GROUP, offer_tile, set_floors, trim_all

SAMPLED = 16  # one item of so many
BLOCK = 512  # items that are multiplied with as many others at a time: a tile of 1 MB


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
    lists = Lists(
        values=np.empty((n, 2 * width + GROUP), np.float32),
        ids=np.zeros((n, 2 * width + GROUP), np.int32),
        sizes=np.zeros(n, np.int64),
        floors=np.empty(n, np.float32),
        lowest=np.full(n, np.inf if with_farthest else -np.inf, np.float32),
        farthest=np.zeros(n, np.int64),
    )
    with (
        one_thread_each(),
        ThreadPoolExecutor(numba.get_num_threads()) as threads,
    ):
        _fill(lists, vectors, half, width, threads, advance)
    trim_all(*lists[:3], width)
    ids = lists.ids[:, :width].copy()
    ids[lists.sizes < width] = -1
    return ids, lists.farthest


def _fill(
    lists: Lists,
    vectors: Float32Array,
    half: Float32Array | None,
    width: int,
    threads: ThreadPoolExecutor,
    advance: Callable[[int], None],
) -> None:
    n = len(vectors)
    sample = np.sort(generator(0, "sample").permutation(n)[: max(n // SAMPLED, 1)])
    of_sample = vectors[sample]
    blocks = [slice(first, min(first + BLOCK, n)) for first in range(0, n, BLOCK)]
    # So many of the sample as there are of `width` on average, and two standard deviations more.
    share = width * len(sample) / n
    rank = int(share + 2 * share**0.5 + 1.5)
    own = local()  # each thread multiplies into the same place again

    def products(rows: slice, others: Float32Array, columns: slice | IntArray) -> Float32Array:
        if not hasattr(own, "room"):
            own.room = np.empty(BLOCK * max(BLOCK, len(sample)), np.float32)
        a = vectors[rows]
        tile: Float32Array = own.room[: len(a) * len(others)].reshape(len(a), len(others))
        np.matmul(a, others.T, out=tile)
        if half is not None:
            tile -= half[rows, None]
            tile -= half[columns]
        return tile

    def floors(rows: slice) -> None:
        set_floors(products(rows, of_sample, sample), rank, lists.floors[rows])

    def meet(pair: tuple[int, int]) -> None:
        rows, columns = blocks[pair[0]], blocks[pair[1]]
        tile = products(rows, vectors[columns], columns)
        offer_tile(tile, rows.start, columns.start, rows != columns, width, *lists)

    list(threads.map(floors, blocks))
    done = 0
    for number, pairs in enumerate(rounds(len(blocks)), start=1):
        list(threads.map(meet, pairs))
        advance(n * number // (len(blocks) + 1) - done)
        done = n * number // (len(blocks) + 1)
    advance(n - done)


def rounds(count: int) -> Iterator[list[tuple[int, int]]]:
    """Every pair of 0, ..., count - 1 once, in rounds in which nobody has two others.

    In the first round each meets itself. Then one keeps its seat and the others move on by one.
    """
    yield [(i, i) for i in range(count)]
    seats = count + count % 2
    for shift in range(seats - 1):
        around = [seats - 1, *((shift + i) % (seats - 1) for i in range(seats - 1))]
        pairs = ((around[i], around[seats - 1 - i]) for i in range(seats // 2))
        yield [(min(pair), max(pair)) for pair in pairs if max(pair) < count]
