"""Pairs that are known without vectors: distances, or a graph of similarities, handed to `fit`.

`fit(distances=...)` takes a dense n x n array, for at most 5,000 items, or a sparse one as scikit-learn's
`kneighbors_graph(mode="distance")` makes it, where an entry is a distance, zero included, and no entry means
that nobody knows. Row i holds the distances from i, so they need not be symmetric; what stands on the
diagonal is not looked at. They are taken as Euclidean distances, whatever the method's `metric`, which is
about vectors. The unit is no matter: with m the median of all that are known, the similarity of a pair is
1 / (1 + d / (m / sqrt 2)). Two items are sqrt 2 times as far from each other as from their common middle, by
which vectors are measured: so distances rank much as the vectors do that they come from.

`fit(graph=...)` takes similarities from -1 to 1 in the same two forms and treats them as cosines: the squared
distance of a pair is 2 - 2 s.

Where a method asks for a pair that a sparse matrix does not have, the pair counts as far apart as the
farthest one that is known of its row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from foldwalk.core.checked_arrays import checked_csr
from foldwalk.core.errors import BadInput, TooFewNeighbors, one_line
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, Float32Array, Float64Array, IntArray
from foldwalk.core.vectors import Vectors, read_array
from foldwalk.rerank.order import Reached
from foldwalk.walk.csr import Parts, csr, parts
from foldwalk.walk.entries import entries

DENSE_UP_TO = 5_000
# Items are numbered by float32, which counts without a gap up to here.
MOST = 2**24 - 1
NO_QUERIES = (
    "{name} was fitted without vectors and cannot compare new queries with anything: make them rows of the "
    "matrix and call rank_rows, or fit vectors."
)


@dataclass(frozen=True, eq=False)
class KnownPairs:
    """Row i holds the similarity of i to others, columns ascending, nothing on the diagonal."""

    rows: sparse.csr_array
    metric: str

    @classmethod
    def check(cls, distances: Any, graph: Any, name: str, taken: bool) -> KnownPairs:
        """Whichever of the two there is, for the method of this name, by which such pairs are `taken`."""
        if not taken:
            raise BadInput(
                f"{name} works on vectors, which distances and graphs do not have: fit(gallery), or choose a "
                f"method that takes distances, such as cas or k_reciprocal."
            )
        return cls.from_graph(graph) if distances is None else cls.from_distances(distances)

    @classmethod
    def from_distances(cls, distances: Any) -> KnownPairs:
        """Euclidean distances in any unit."""
        known = read_distances(distances)
        with np.errstate(under="ignore"):
            known.data = 1 / (1 + known.data * np.sqrt(2) / typical(known.data))
        return cls(_as_single(known), "euclidean")

    @classmethod
    def from_graph(cls, graph: Any) -> KnownPairs:
        """Similarities like those of a cosine."""
        known = _read(graph, "graph")
        _refuse(
            known, np.abs(known.data) > 1, "graph", "is no similarity from -1 to 1; divide by the largest"
        )
        return cls(_as_single(known), "cosine")

    @classmethod
    def from_saved(cls, arrays: Mapping[str, AnyArray], metric: str) -> KnownPairs:
        """The opposite of `saved`, checked as if it came from elsewhere."""
        if metric not in ("cosine", "euclidean"):
            raise BadInput(f"pairs cannot be by {metric!r}.")
        indptr, indices, data = (
            np.asarray(arrays[f"pairs_{name}"]) for name in ("indptr", "indices", "data")
        )
        n = max(indptr.size - 1, 0)
        known = checked_csr(indptr, indices, data, "pairs", (n, n), low=-1, high=1)
        return cls(cls.from_graph(csr(*known, n)).rows, metric)

    def saved(self) -> dict[str, AnyArray]:
        """The arrays of a file."""
        indptr, indices, data = self.arrays
        return {"pairs_indptr": indptr, "pairs_indices": indices, "pairs_data": data}

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @cached_property
    def items(self) -> Vectors:
        """What stands for the vectors that are not there: each item's number, counted from one."""
        return Vectors(np.arange(1, len(self) + 1, dtype=np.float32)[:, None])

    @property
    def complete(self) -> bool:
        """Whether every pair is known."""
        return bool(self.rows.nnz == len(self) * (len(self) - 1))

    @cached_property
    def longest(self) -> int:
        """How many others the row with the most entries knows."""
        return int(np.diff(self.rows.indptr).max(initial=0))

    @cached_property
    def arrays(self) -> Parts:
        """The rows as kernels take them."""
        return parts(self.rows)

    @cached_property
    def least(self) -> Float32Array:
        """The similarity to the farthest that is known of each item; of all, where an item knows none."""
        out = np.full(len(self), self.rows.data.min(initial=np.float32(0.5)), np.float32)
        some = np.flatnonzero(np.diff(self.rows.indptr))
        if len(some):
            out[some] = np.minimum.reduceat(self.rows.data, self.rows.indptr[some])
        return out

    def mean(self) -> float:
        """The mean similarity of all pairs, those of an item with itself included."""
        missing = len(self) - 1 - np.diff(self.rows.indptr)
        total = self.rows.data.sum(dtype=np.float64) + (missing * self.least).sum(dtype=np.float64)
        return float((total / len(self) + 1) / len(self))

    def nearest(self, k: int, name: str) -> Neighbors:
        """The k nearest others of every item, for the method of this name."""
        if self.longest < k:
            raise TooFewNeighbors(
                f"no row of the matrix has more than {self.longest} neighbours, but {name} needs {k}: "
                f"hand in more, or ask for smaller neighbourhoods."
            )
        return self._best(self.rows, k, self.least)

    def search(self, queries: Vectors, k: int) -> Neighbors:
        """The k nearest others of some of the items; fewer where fewer are known."""
        rows = _numbers(queries)
        return self._best(sparse.csr_array(self.rows[rows]), k, self.least[rows])

    def _best(self, rows: sparse.csr_array, k: int, least: Float32Array) -> Neighbors:
        best = Reached.from_sparse(rows, k, len(self), None)
        return Neighbors(best.ids, best.scores, self.metric, how="given", least=least)

    def similarities(self, queries: Vectors, indptr: IntArray, items: AnyArray) -> Float32Array:
        """Of items[indptr[q] : indptr[q + 1]] to query q, which is itself one of the items."""
        columns = items.astype(np.int32, copy=False)
        return np.asarray(
            entries(*self.arrays, _numbers(queries), indptr, columns, self.least, np.float32(1))
        )

    def refuse_gaps(self, ids: IntArray, rows: IntArray, name: str) -> None:
        """No order of items that are neither reached by the method of this name nor known."""
        known = (ids >= 0).sum(axis=1)
        if known.min() < ids.shape[1]:
            raise BadInput(
                f"{name} reaches {known.min()} items from row {rows[known.argmin()]}, and the matrix does "
                f"not say in which order the others follow: ask for a top of {known.min()}, hand in more "
                f"pairs, or fit vectors."
            )

    def dense(self, rows: IntArray) -> Float32Array:
        """Some rows with every column; the item itself is at similarity one."""
        out = np.repeat(self.least[rows][:, None], len(self), axis=1)
        some = sparse.csr_array(self.rows[rows])
        out[np.repeat(np.arange(len(rows)), np.diff(some.indptr)), some.indices] = some.data
        out[np.arange(len(rows)), rows] = 1
        return out


def _numbers(queries: Vectors) -> IntArray:
    return queries.values[:, 0].astype(np.int64) - 1


def typical(distances: Float64Array) -> float:
    """The median distance; where most are zero, that of the others; one where all are."""
    median = float(np.median(distances)) if len(distances) else 1.0
    if median == 0:
        above = distances[distances > 0]
        median = float(np.median(above)) if len(above) else 1.0
    return median


def read_distances(matrix: Any, name: str = "distances") -> sparse.csr_array:
    """n x n distances, dense or sparse, as a sparse array of float64 without its diagonal, checked."""
    known = _read(matrix, name)
    _refuse(known, known.data < 0, name, "is negative; a distance is not")
    return known


def _read(matrix: Any, name: str) -> sparse.csr_array:
    """A copy: the caller's matrix stays as it is."""
    known = _sparse(matrix, name) if sparse.issparse(matrix) else _dense(matrix, name)
    _refuse(known, ~np.isfinite(known.data), name, "is not finite; leave such pairs out of a sparse matrix")
    return known


def _dense(matrix: Any, name: str) -> sparse.csr_array:
    raw = read_array(matrix, name)
    _check_shape(raw.shape, raw.dtype, name)
    n = len(raw)
    if n > DENSE_UP_TO:
        raise BadInput(
            f"{name} is a dense matrix of {n} items, which is refused above {DENSE_UP_TO}: hand in a sparse "
            f"one of the nearest, or vectors with neighbors=(ids, similarities)."
        )
    if isinstance(matrix, np.ma.MaskedArray) and np.ma.getmaskarray(matrix).any():
        raise BadInput(f"{name} is masked in places; leave such pairs out of a sparse matrix.")
    others = ~np.eye(n, dtype=np.bool_)
    columns = np.broadcast_to(np.arange(n, dtype=np.int32), (n, n))[others]
    return csr(np.arange(n + 1, dtype=np.int64) * (n - 1), columns, raw[others].astype(np.float64), n)


def _sparse(matrix: Any, name: str) -> sparse.csr_array:
    _check_shape(matrix.shape, matrix.dtype, name)
    try:
        if matrix.format in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)  # columns, too, which scipy otherwise takes on trust
    except ValueError as error:
        raise BadInput(f"{name} is no whole sparse matrix: {one_line(error)}.") from None
    known = sparse.csr_array(matrix, dtype=np.float64, copy=True)
    known.sum_duplicates()
    if matrix.format in ("csr", "csc", "coo") and known.nnz != matrix.nnz:
        raise BadInput(f"{name} has two entries for one pair; keep one of them.")
    row_of = np.repeat(np.arange(known.shape[0]), np.diff(known.indptr))
    others = known.indices != row_of
    if others.all():
        return known
    ends = np.concatenate([[0], np.cumsum(others)])[known.indptr]
    return csr(ends.astype(np.int64), known.indices[others], known.data[others], known.shape[1])


def _check_shape(shape: tuple[int, ...], dtype: Any, name: str) -> None:
    if dtype.kind not in "fiub":
        raise BadInput(f"{name} must hold real numbers, but its type is {dtype}.")
    if len(shape) != 2 or shape[0] != shape[1] or not shape[0]:
        raise BadInput(f"{name} must be a square matrix, a row and a column per item, not of shape {shape}.")
    if shape[0] > MOST:
        raise BadInput(f"{name} has {shape[0]} items, more than the {MOST} that can be numbered.")


def _refuse(known: sparse.csr_array, wrong: AnyArray, name: str, why: str) -> None:
    if wrong.any():
        place = int(np.argmax(wrong))
        row = int(np.searchsorted(known.indptr, place, side="right")) - 1
        column, value = known.indices[place], known.data[place]
        raise BadInput(f"{name}, row {row}, column {column}: {value:.6g} {why}.")


def _as_single(known: sparse.csr_array) -> sparse.csr_array:
    indptr, indices, data = known.indptr, known.indices, known.data
    return csr(indptr.astype(np.int64), indices.astype(np.int32), data.astype(np.float32), known.shape[1])
