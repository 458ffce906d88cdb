"""Items numbered along the graph, so that neighbours stand close together in memory.

What a row of a large graph touches then is in the caches still, and the cost of a row no longer grows with n.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import Int32Array
from foldwalk.graph.build import as_rows
from foldwalk.walk import numbered

LINKS = 10  # neighbours of an item along which items are numbered


@dataclass(frozen=True, eq=False)
class Numbering:
    """`order[p]` is the item at place p, `place[i]` the place of item i."""

    order: Int32Array

    @classmethod
    def as_given(cls, n: int) -> Numbering:
        return cls(np.arange(n, dtype=np.int32))

    @classmethod
    def of(cls, neighbors: Neighbors) -> Numbering:
        """Along the graph where there are many items, as given otherwise."""
        many = len(neighbors) > numbered.NUMBER_ABOVE
        return cls.along(neighbors) if many else cls.as_given(len(neighbors))

    @classmethod
    def along(cls, neighbors: Neighbors) -> Numbering:
        """By the reverse Cuthill-McKee algorithm, along the nearest few."""
        neighbors = neighbors.first(min(neighbors.k, LINKS))
        links = as_rows(neighbors, np.ones_like(neighbors.similarities), len(neighbors))
        return cls(reverse_cuthill_mckee(links, symmetric_mode=False).astype(np.int32, copy=False))

    @cached_property
    def place(self) -> Int32Array:
        places = np.empty_like(self.order)
        places[self.order] = np.arange(len(self.order), dtype=np.int32)
        return places

    def renumber(self, ids: Int32Array) -> Int32Array:
        """Places of the items; none (-1) stays none."""
        return np.where(ids >= 0, self.place[ids], np.int32(-1))

    def items(self, places: Int32Array) -> Int32Array:
        """Items at the places; none (-1) stays none."""
        return np.where(places >= 0, self.order[places], np.int32(-1))

    def matrix_of_items(self, matrix: sparse.csr_array) -> sparse.csr_array:
        """A matrix whose rows and columns are places, by the items' own numbers; columns in no order."""
        rows = matrix[self.place]
        return sparse.csr_array((rows.data, self.order[rows.indices], rows.indptr), shape=rows.shape)

    def neighbors(self, neighbors: Neighbors) -> Neighbors:
        """The same lists by places, in the order of places."""
        least = None if neighbors.least is None else neighbors.least[self.order]
        return Neighbors(
            self.renumber(neighbors.ids[self.order]),
            neighbors.similarities[self.order],
            neighbors.metric,
            neighbors.recall,
            neighbors.how,
            least,
        )
