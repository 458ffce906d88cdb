"""Neighbours from elsewhere, as a vector database gives them: what their numbers mean is told by the vectors.

Lists of FAISS and of HNSW hold the item itself, ids of -1 where nothing was found, and often distances where
similarities are asked for. Of some rows the first and the last neighbours are compared with what the vectors
say. The reading that fits best counts:

    similarities of the metric          taken
    squared Euclidean distances         converted: of the vectors, or of the vectors at length one
    anything else                       refused, with what it looks like

Databases quantise: a reading fits while the mean error is a fifth of the mean value. Euclidean similarities
are computed again from the vectors, for 1 / (1 + d) in the vectors' own unit may have lost the small ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from foldwalk.core.errors import BadInput
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, Float32Array, Float64Array
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors.similarity import pair_similarities

ROWS, COLUMNS = 64, 4  # compared rows, and columns from either end
# Mean errors, as shares of the mean value: with which a reading fits; with which nothing else is considered.
FITS, SURELY = 0.2, 0.005


@dataclass(frozen=True, eq=False)
class Reading:
    """What the numbers may be: their values for the compared pairs, and what to do where they are that."""

    what: str
    values: Float64Array
    instead: str = ""  # what to do where this is refused
    least: float = 1e-300  # smaller mean values count as this

    def error(self, given: Float64Array) -> float:
        """The mean error as a share of the mean value."""
        mean = np.abs(self.values).mean()
        return float(np.abs(given - self.values).mean() / max(mean, self.least))


def taken(
    neighbors: Neighbors | tuple[npt.ArrayLike, npt.ArrayLike], given: Vectors, seen: Vectors, metric: str
) -> Neighbors:
    """Neighbours of the vectors `given`, which the metric sees as `seen`, as every method relies on them."""
    if not isinstance(neighbors, Neighbors):
        neighbors = _checked(*neighbors, len(given), metric)
    if neighbors.metric != metric or len(neighbors) != len(given):
        return neighbors  # whoever adopts them says so
    if neighbors.how == "given":
        neighbors = _recognised(neighbors, given, seen, metric)
    return neighbors if metric == "cosine" else _scored_again(neighbors, seen)


def _checked(ids: npt.ArrayLike, values: npt.ArrayLike, n: int, metric: str) -> Neighbors:
    """As `Neighbors.check` does, with the item itself left out of its own list."""
    listed = np.array(ids)
    own = np.zeros((0, 0), bool)
    if listed.ndim == 2 and len(listed) == n and listed.dtype.kind in "iu":
        own = listed == np.arange(n, dtype=listed.dtype)[:, None]
        if own.any():
            listed = np.where(own, -1, listed.astype(np.int64))
    found = Neighbors.check(listed, values, n, metric)
    # Lists that count the item itself are one shorter without it; a stray one leaves a gap.
    return found.first(found.k - 1) if own.any(axis=1).sum() > n / 2 else found


def _recognised(neighbors: Neighbors, given: Vectors, seen: Vectors, metric: str) -> Neighbors:
    rows, ids, values = _sample(neighbors, given, metric)
    if not len(rows):
        return neighbors
    similarities, squares, strangers = _readings(given, seen, rows, ids, metric)
    if min(reading.error(values) for reading in similarities) <= SURELY:
        return neighbors
    best = min([*similarities, *squares, *strangers], key=lambda reading: reading.error(values))
    if best.error(values) > FITS:
        raise BadInput(
            f"neighbors: these numbers are not similarities of the vectors ({_example(rows, ids, values)}, "
            f"but it is {similarities[0].values[0]:.4g}); pass (ids, similarities) of this very gallery, "
            f"where {similarities[0].what} are meant."
        )
    if best in strangers:
        raise BadInput(f"neighbors: these look like {best.what}, not similarities: {best.instead}.")
    if best in squares and metric == "cosine":
        halves = 1 - neighbors.similarities.astype(np.float64) / 2
        return Neighbors.check(neighbors.ids, halves, len(neighbors), metric)
    return neighbors


def _sample(neighbors: Neighbors, vectors: Vectors, metric: str) -> tuple[AnyArray, AnyArray, Float64Array]:
    """Pairs of an item and a neighbour that have a direction, and the numbers given for them."""
    n, k = neighbors.ids.shape
    rows = np.unique(np.linspace(0, n - 1, min(n, ROWS)).round().astype(np.int64))
    ids, values = neighbors.ids[rows], neighbors.similarities[rows].astype(np.float64)
    filled = (ids >= 0).sum(axis=1)[:, None]
    place = np.arange(k)
    asked = (ids >= 0) & ((place < COLUMNS) | (place >= filled - COLUMNS))
    if metric == "cosine":
        asked &= ~vectors.zero_rows[ids] & ~vectors.zero_rows[rows][:, None]
    return np.broadcast_to(rows[:, None], ids.shape)[asked], ids[asked], values[asked]


def _readings(
    given: Vectors, seen: Vectors, rows: AnyArray, ids: AnyArray, metric: str
) -> tuple[list[Reading], list[Reading], list[Reading]]:
    """Similarities of the metric, squared distances, and what else databases answer with."""
    a, b = given.values[rows].astype(np.float64), given.values[ids].astype(np.float64)
    products, squared = np.einsum("ij,ij->i", a, b), np.einsum("ij,ij->i", a - b, a - b)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    cosines = products / np.where(lengths == 0, 1, lengths)
    distances = np.sqrt(squared)
    inverse = Reading("1 / (1 + distance)", 1 / (1 + distances), 'create the method with metric="euclidean"')
    if metric == "cosine":
        return (
            [Reading("cosines", cosines, least=0.1)],
            [Reading("squared distances of unit vectors", 2 - 2 * cosines)],
            [
                Reading("cosine distances", 1 - cosines, "pass 1 - distances"),
                Reading(
                    "Euclidean distances of unit vectors",
                    np.sqrt(np.maximum(2 - 2 * cosines, 0)),
                    "pass 1 - distances ** 2 / 2",
                ),
                Reading(
                    "inner products", products, "scale the vectors to length one before they are searched"
                ),
                Reading("Euclidean distances", distances, 'pass 1 / (1 + distances) to metric="euclidean"'),
                Reading("squared Euclidean distances", squared, 'create the method with metric="euclidean"'),
                inverse,
            ],
        )
    by_cosine = 'create the method with metric="cosine"'
    return (
        [inverse, Reading(inverse.what, 1 / (1 + distances / seen.scale))],
        [Reading("squared distances", squared)],
        [
            Reading("Euclidean distances", distances, "pass 1 / (1 + distances)"),
            Reading("cosine distances", 1 - cosines, f"pass 1 - distances and {by_cosine}"),
            Reading("cosines", cosines, by_cosine),
            Reading("inner products", products, "they are no similarities by Euclidean distance"),
        ],
    )


def _scored_again(neighbors: Neighbors, seen: Vectors) -> Neighbors:
    """The similarities of the listed pairs in the scale of the vectors, sorted by them."""
    known = neighbors.ids >= 0
    indptr = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    similarities: Float32Array = np.zeros(neighbors.ids.shape, np.float32)
    similarities[known] = pair_similarities(seen.values, seen.values, indptr, neighbors.ids[known], False)
    if np.allclose(similarities, neighbors.similarities, rtol=0, atol=1e-6):
        return neighbors
    again = Neighbors.check(neighbors.ids, similarities, len(seen), neighbors.metric)
    return replace(again, recall=neighbors.recall, how=neighbors.how)


def _example(rows: AnyArray, ids: AnyArray, values: Float64Array) -> str:
    return f"item {rows[0]} with item {ids[0]} is given {values[0]:.4g}"
