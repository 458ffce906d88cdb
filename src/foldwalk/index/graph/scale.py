"""In which scale of the vectors a graph is made: in that of the graph before it, as long as it fits.

So the similarities of items that were there stay as they are. A scale that was chosen for other items, the
first few of a collection say, is given up when it is more than twice or less than half of what it would be.
A graph of an earlier version has none, and stays in the unit of the vectors until the index is rebuilt.
"""

from __future__ import annotations

import numpy as np

from foldwalk.core.types import IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.index.graph.knn import PROMISED, KnnGraph
from foldwalk.neighbors.scale import own_scale, scale_for_all, smallest_scale

SAMPLE = 500  # items that tell whether a scale still fits


def scale_for(older: KnnGraph | None, stored: Vectors, numbers: IntArray, metric: str) -> float:
    """The scale for the graph of these items, which `older` becomes."""
    if metric == "cosine":
        return 1.0
    if older is None or not len(older):
        return scale_for_all(stored, metric)
    unchanged = np.array_equal(older.numbers, numbers)
    if unchanged or not len(stored) or (older.scale == 1 and len(older) >= PROMISED):
        return older.scale
    some, least = Vectors(stored.values[:: max(1, len(stored) // SAMPLE)]), smallest_scale(stored)
    wanted = max(own_scale(some, metric), least)
    fits = least <= older.scale and 0.5 <= wanted / older.scale <= 2
    return older.scale if fits else scale_for_all(stored, metric)
