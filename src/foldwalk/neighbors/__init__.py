"""Vectors to nearest neighbours: exact where that is quick, approximate where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors.exact import exact_search
from foldwalk.neighbors.scale import in_scale, own_scale, refuse_too_far
from foldwalk.neighbors.similarity import METRICS

if TYPE_CHECKING:
    from foldwalk.neighbors.approximate import SmallWorld

__all__ = ["Searcher", "choose_way", "knn_graph", "prepare"]

# Multiplications up to which exact search is chosen: 100,000 x 100,000 x 150, some 40 s on two cores. About
# as long takes the approximate way, most of it spent on compiling once per process.
EXACT_WORK = 1.5e12


def prepare(vectors: Vectors, metric: str, scale: float | None = None) -> Vectors:
    """The vectors as the metric sees them; a copy, unless a scale is given that they are in already.

    For the cosine each is scaled to length one. For the Euclidean metric all are divided by one number, the
    typical distance: the result's `scale`. Queries take the scale of the gallery they are compared with.
    """
    if metric not in METRICS:
        raise BadInput(f"metric must be one of {', '.join(METRICS)}, but it is {metric!r}.")
    if metric == "cosine":
        return vectors.unit()
    chosen = own_scale(vectors, metric) if scale is None else scale
    refuse_too_far(vectors, chosen)
    scaled = in_scale(vectors, chosen)
    return Vectors(vectors.values.copy(), chosen) if scale is None and scaled is vectors else scaled


def choose_way(n: int, queries: int, dim: int) -> str:
    """ "exact" while n x queries x dim is affordable, else "approximate"."""
    return "exact" if float(n) * queries * dim <= EXACT_WORK else "approximate"


def knn_graph(
    vectors: Vectors, k: int, metric: str = "cosine", way: str = "auto", seed: int = 0
) -> Neighbors:
    """The k nearest others of every item of a set that `prepare` has seen; the item itself is left out."""
    if not 1 <= k < len(vectors):
        raise BadInput(
            f"k is {k}, but an item of {len(vectors)} has {len(vectors) - 1} others; "
            f"choose k from 1 to {len(vectors) - 1}."
        )
    if _resolve(way, len(vectors), len(vectors), vectors.dim) == "exact":
        return exact_search(vectors, vectors, k, metric, own=np.arange(len(vectors)))
    from foldwalk.neighbors.approximate import descent_graph  # compiles for a while: only when needed

    return descent_graph(vectors, k, metric, seed)


class Searcher:
    """Finds the nearest gallery items of new queries."""

    def __init__(self, gallery: Vectors, metric: str = "cosine", way: str = "auto", seed: int = 0) -> None:
        self.gallery, self.metric, self.way, self.seed = gallery, metric, way, seed
        self._small_world: SmallWorld | None = None

    def search(self, queries: Vectors, k: int, own: IntArray | None = None) -> Neighbors:
        """The k nearest gallery items of each query; `own[q]` is an id that query q must not find."""
        if not 1 <= k <= len(self.gallery):
            raise BadInput(f"k is {k}, but the gallery has {len(self.gallery)} items.")
        if _resolve(self.way, len(self.gallery), len(queries), self.gallery.dim) == "exact":
            return exact_search(self.gallery, queries, k, self.metric, own)
        if self._small_world is None:
            from foldwalk.neighbors.approximate import SmallWorld

            self._small_world = SmallWorld(self.gallery, self.metric, self.seed)
        return self._small_world.search(queries, k, own)


def _resolve(way: str, n: int, queries: int, dim: int) -> str:
    if way not in ("auto", "exact", "approximate"):
        raise BadInput(f"way must be auto, exact or approximate, but it is {way!r}.")
    return choose_way(n, queries, dim) if way == "auto" else way
