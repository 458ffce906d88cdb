"""One vector out of a map of local features, (n, channels, height, width) to (n, channels).

gap    the mean over the map
mac    the maximum over the map                           (Razavian et al. 2016, Tolias et al. 2016)
gem    (mean of x^p)^(1/p), here p = 3                    (Radenović et al. 2019, eq. 3)
rmac   the maximum of each of many regions, l2-normalised, [whitened, l2-normalised,] summed, l2-normalised
       (Tolias, Sicre, Jégou 2016, section 3.2)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from foldwalk.core.types import Float32Array

LEVELS = 3
OVERLAP = 0.4
Whiten = Callable[[Float32Array], Float32Array]


def unit(vectors: Float32Array) -> Float32Array:
    """Vectors of length one along the last axis; zeros stay zeros."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(length == 0, 1, length), dtype=np.float32)


def gap(maps: Float32Array) -> Float32Array:
    return np.asarray(_flat(maps).mean(axis=2, dtype=np.float32))


def mac(maps: Float32Array) -> Float32Array:
    return np.asarray(_flat(maps).max(axis=2))


def gem(maps: Float32Array, p: float = 3.0) -> Float32Array:
    powers = np.maximum(_flat(maps), np.float32(1e-6)) ** p
    return np.asarray(powers.mean(axis=2) ** (1 / p), dtype=np.float32)


def rmac(maps: Float32Array, whiten: Whiten | None = None, levels: int = LEVELS) -> Float32Array:
    return unit(region_vectors(maps, whiten, levels).sum(axis=1))


def region_vectors(maps: Float32Array, whiten: Whiten | None = None, levels: int = LEVELS) -> Float32Array:
    """The l2-normalised maximum of every region, (n, regions, channels), whitened when asked."""
    regions = regions_of(maps.shape[2], maps.shape[3], levels)
    found = [mac(maps[:, :, r.top : r.top + r.side, r.left : r.left + r.side]) for r in regions]
    vectors = unit(np.stack(found, axis=1))
    if whiten is None:
        return vectors
    return whiten(vectors.reshape(-1, vectors.shape[2])).reshape(len(maps), len(regions), -1)


class Region(NamedTuple):
    """A square of a map."""

    top: int
    left: int
    side: int


def regions_of(height: int, width: int, levels: int = LEVELS) -> list[Region]:
    """The regions of R-MAC.

    Level 1 has squares as large as fit, m of them along the longer side, with m such that neighbours overlap
    as near to 40 % as can be. Level l has l x (l + m - 1) squares of side 2 min(width, height) / (l + 1).
    """
    short, longer = min(height, width), max(height, width)
    along = _count(short, longer)
    regions = []
    for level in range(1, levels + 1):
        side = max(1, 2 * short // (level + 1))
        rows = level if height <= width else level + along - 1
        columns = level if width <= height else level + along - 1
        regions += [
            Region(top, left, side)
            for top in _starts(height - side, rows)
            for left in _starts(width - side, columns)
        ]
    return regions


def _count(short: int, longer: int) -> int:
    """How many squares of side `short` cover `longer` with an overlap nearest to 40 %."""
    if short == longer:
        return 1
    most = 2 + 2 * longer // short  # beyond it neighbours overlap by more than 40 % anyway

    def off(count: int) -> float:
        return abs(1 - (longer - short) / (count - 1) / short - OVERLAP)

    return min(range(2, most + 1), key=off)


def _starts(room: int, count: int) -> list[int]:
    """Evenly spaced whole numbers from 0 to `room`."""
    return [int(start) for start in np.linspace(0, room, count)]


def _flat(maps: Float32Array) -> Float32Array:
    return maps.reshape(maps.shape[0], maps.shape[1], -1)
