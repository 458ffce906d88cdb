"""Candidates for the nearest neighbours within one set: each product of two items serves both.

    s(i, j) = x_i x_j - half_i - half_j,   half = 0 for the cosine, |x|^2 / 2 for Euclidean distances

The items are shuffled and cut into blocks; every block is multiplied with every other, and with itself, and
the products are offered to the items of both. What an item has met so far is a sample of all: some more of it
than would belong to the nearest are kept, the least of which is the item's floor. Few products lie above it.

Blocks meet in the rounds of a tournament, each at most once in a round, so that threads never offer to the
same item, and an item is offered the others in the same order whatever the number of threads. Each thread
multiplies by itself: threads within one matrix product wait for each other more than they work. FAISS's exact
search, which computes every product twice, takes 1.1 to 1.9 times as long from 5,000 to 100,000 items
(docs/speed.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import local
from typing import NamedTuple

import numba
import numpy as np

from foldwalk.core.seeds import generator
from foldwalk.core.types import Float32Array, Int32Array, IntArray
from foldwalk.machine.products import one_thread_each
from foldwalk.neighbors.offers import GROUP, offer_tile, set_floors, trim_all

BLOCK = 768  # items that are multiplied with as many others at a time: a tile of 2 MB


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
    order = generator(0, "order").permutation(n).astype(np.int32)
    with (
        one_thread_each(),
        ThreadPoolExecutor(numba.get_num_threads()) as threads,
    ):
        _fill(lists, vectors[order], None if half is None else half[order], width, threads, advance)
    trim_all(*lists[:4], width)
    ids, farthest = np.full((n, width), -1, np.int32), np.empty(n, np.int64)
    full = lists.sizes >= width
    ids[order[full]] = order[lists.ids[full, :width]]
    farthest[order] = order[lists.farthest]
    return ids, farthest


def _fill(
    lists: Lists,
    vectors: Float32Array,
    half: Float32Array | None,
    width: int,
    threads: ThreadPoolExecutor,
    advance: Callable[[int], None],
) -> None:
    n = len(vectors)
    blocks = [slice(first, min(first + BLOCK, n)) for first in range(0, n, BLOCK)]
    own = local()  # each thread multiplies into the same place again

    def products(rows: slice, columns: slice) -> Float32Array:
        if not hasattr(own, "room"):
            own.room = np.empty(BLOCK * BLOCK, np.float32)
        a, b = vectors[rows], vectors[columns]
        tile: Float32Array = own.room[: len(a) * len(b)].reshape(len(a), len(b))
        np.matmul(a, b.T, out=tile)
        if half is not None:
            tile -= half[rows, None]
            tile -= half[columns]
        return tile

    def meet(pair: tuple[int, int]) -> None:
        rows, columns = blocks[pair[0]], blocks[pair[1]]
        tile = products(rows, columns)
        if rows == columns:
            set_floors(tile, _kept_of_sample(len(tile), n, width), lists.floors[rows])
        offer_tile(tile, rows.start, columns.start, rows != columns, width, *lists)

    done = 0
    for number, pairs in enumerate(rounds(len(blocks)), start=1):
        list(threads.map(meet, pairs))
        if number > 1 and number.bit_count() == 1:  # when twice as many were met as the last time
            trim_all(*lists[:4], min(_kept_of_sample(number * BLOCK, n, width), width))
        advance(n * number // (len(blocks) + 1) - done)
        done = n * number // (len(blocks) + 1)
    advance(n - done)


def _kept_of_sample(met: int, n: int, width: int) -> int:
    """So many of the `met` as there are of `width` on average, three standard deviations and one more."""
    share = width * met / n
    return int(share + 3 * share**0.5 + 2)


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
