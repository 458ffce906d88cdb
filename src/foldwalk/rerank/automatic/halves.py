"""Whether a view shows more of a collection than the vectors themselves do, without labels.

The numbers of a vector are cut into two halves at random, and each half is seen as if it were all there is:
which items are near an item, the two halves must find out independently. Where a view brings the items out,
the halves agree about the nearest at least as well in it as in the raw view. Where it blows up what is noise
in each half, they agree less. (Mutuality does not tell: it rises with whitening wherever we looked.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foldwalk import views
from foldwalk.core.seeds import generator
from foldwalk.core.types import AnyArray, Float32Array, Int32Array
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors.exact import exact_search

SAMPLE = 2_000  # items that are looked at; of more, every so many-th
NEAREST = 10
FEWEST_NUMBERS = 4


def agreement(values: Float32Array, names: Sequence[str]) -> Float32Array:
    """For each view, the share of the ten nearest by one half that are so by the other; -1 if unknown."""
    present = values[values.any(axis=1)]
    some = present[:: max(1, -(-len(present) // SAMPLE))]
    k = min(NEAREST, (len(some) - 1) // 2)
    if k < 1 or some.shape[1] < FEWEST_NUMBERS:
        return np.full(len(names), -1, np.float32)
    order = generator(0, "halves of the numbers").permutation(some.shape[1])
    parts = (order[: len(order) // 2], order[len(order) // 2 :])
    halves = [Vectors(np.ascontiguousarray(some[:, np.sort(part)])).unit() for part in parts]
    learned = [views.learn(names, half.values) for half in halves]

    def lists(name: str, half: int) -> Int32Array:
        seen = Vectors(learned[half][name].see(halves[half].values))
        return exact_search(seen, seen, k, "cosine", np.arange(len(some))).ids

    return np.array([shared(lists(name, 0), lists(name, 1)) for name in names], np.float32)


def shared(one: AnyArray, other: AnyArray) -> float:
    """The share of the places of one set of lists (n, k) whose items are in the other's list, too."""
    found = (one[:, :, None] == other[:, None, :]) & (one[:, :, None] >= 0)
    return float(found.any(axis=2).mean())
