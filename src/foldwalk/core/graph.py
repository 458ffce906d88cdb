"""An affinity graph, and how it was made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from foldwalk.core.types import BoolArray


@dataclass(frozen=True, eq=False)
class Graph:
    """A sparse affinity matrix (CSR, float32, sorted rows, non-negative, zero diagonal).

    `recipe` lists the steps that made it, so that a report can name them:
    ``("cosine^3", "mutual k=15", "symmetric")``.
    """

    matrix: sparse.csr_array
    recipe: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def edges(self) -> int:
        """How many weights are stored; an edge that goes both ways counts twice."""
        return int(self.matrix.nnz)

    @property
    def isolated(self) -> BoolArray:
        """True for items without any edge."""
        return np.asarray(np.diff(self.matrix.indptr) == 0)

    def components(self) -> tuple[int, np.ndarray]:
        """How many connected components there are, and the component of each item."""
        count, labels = sparse.csgraph.connected_components(self.matrix, directed=False)
        return int(count), labels

    def then(self, matrix: sparse.csr_array, step: str) -> Graph:
        """The graph after one more step."""
        return Graph(matrix, (*self.recipe, step))

    def __str__(self) -> str:
        return f"{len(self)} items, {self.edges} edges ({' -> '.join(self.recipe) or 'as given'})"
