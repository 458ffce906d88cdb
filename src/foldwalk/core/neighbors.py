"""The k nearest neighbours of each item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from foldwalk.core.errors import BadInput
from foldwalk.core.types import Float32Array, Int32Array


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Row i lists the neighbours of item i, most similar first, ties by id, the item itself never among them.

    A row with fewer than k neighbours ends in ids of -1, whose similarity is 0. `metric` says what the
    similarity means: "cosine", or "euclidean" for 1 / (1 + distance), in the scale of the vectors. `recall`
    is what a sampled exact check found (1.0 for exact search), `how` names the way they were found. `least`,
    where it is known, is each item's similarity to the item farthest from it.
    """

    ids: Int32Array
    similarities: Float32Array
    metric: str = "cosine"
    recall: float = 1.0
    how: str = "exact"
    least: Float32Array | None = None

    @classmethod
    def check(
        cls, ids: npt.ArrayLike, similarities: npt.ArrayLike, n: int, metric: str = "cosine"
    ) -> Neighbors:
        """Neighbours from elsewhere (a vector database, say), checked for what every method relies on."""
        try:
            given, alike = np.asarray(ids), np.asarray(similarities)
            if alike.dtype.kind == "c":
                raise TypeError("a similarity is a real number")
            with np.errstate(over="ignore"):
                values = np.ascontiguousarray(alike, dtype=np.float32)
        except (ValueError, TypeError) as error:
            raise BadInput(f"neighbors cannot be read as two arrays: {error}.") from None
        if given.ndim != 2 or given.shape != values.shape:
            raise BadInput(
                f"neighbors: ids {given.shape} and similarities {values.shape} must be 2-D and alike."
            )
        if len(given) != n:
            raise BadInput(f"neighbors has {len(given)} rows, but the gallery has {n} items.")
        # Before the cast: an id of 64 bits would wrap around, a fraction would be cut off.
        if given.size and (given.dtype.kind not in "iu" or given.min() < -1 or given.max() >= n):
            raise BadInput(f"neighbors: ids must be whole numbers between -1 (none) and {n - 1}.")
        id_rows = np.ascontiguousarray(given, dtype=np.int32)
        not_finite = ~np.isfinite(values) & (id_rows >= 0)
        if not_finite.any():
            row = int(np.argwhere(not_finite)[0][0])
            raise BadInput(f"neighbors, row {row}: a similarity is not finite.")
        own = np.arange(n, dtype=np.int32)[:, None] == id_rows
        if own.any():
            row = int(np.argwhere(own)[0][0])
            raise BadInput(f"neighbors, row {row}: an item must not be its own neighbour.")
        missing = id_rows < 0
        order = np.lexsort((id_rows, -values, missing), axis=1)
        id_rows = np.take_along_axis(id_rows, order, axis=1)
        values = np.take_along_axis(np.where(missing, np.float32(0), values), order, axis=1)
        repeated = (np.diff(np.sort(id_rows, axis=1), axis=1) == 0) & (np.sort(id_rows, axis=1)[:, 1:] >= 0)
        if repeated.any():
            raise BadInput(f"neighbors, row {int(np.argwhere(repeated)[0][0])}: an id stands there twice.")
        return cls(id_rows, values, metric=metric, recall=float("nan"), how="given")

    def __len__(self) -> int:
        return int(self.ids.shape[0])

    @property
    def k(self) -> int:
        """How many neighbours each row has room for."""
        return int(self.ids.shape[1])

    def first(self, k: int) -> Neighbors:
        """The k nearest only."""
        if k == self.k:
            return self
        if k > self.k:
            raise BadInput(f"{k} neighbours were asked for, but only {self.k} are known.")
        return Neighbors(
            np.ascontiguousarray(self.ids[:, :k]),
            np.ascontiguousarray(self.similarities[:, :k]),
            self.metric,
            self.recall,
            self.how,
            self.least,
        )

    def squared_distances(self) -> Float32Array:
        """Squared Euclidean distances, of the unit vectors when the metric is cosine; infinite where none."""
        if self.metric == "cosine":
            squared = np.maximum(2 - 2 * self.similarities, 0)
        else:
            with np.errstate(over="ignore"):  # what is that far away counts as infinitely far
                squared = (1 / np.maximum(self.similarities, np.float32(1e-30)) - 1) ** 2
        return np.where(self.ids < 0, np.float32(np.inf), squared).astype(np.float32)
