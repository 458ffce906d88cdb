"""Queries beside the stored rows of CAS, unseen or items themselves: where every way to answer begins."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.walk.csr import Parts, csr, parts
from foldwalk.walk.divergence import divergences_to
from foldwalk.walk.overlap import ENTROPY
from foldwalk.walk.scratch import blank


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of F', the columns of each in ascending order: row q is at begin[q] : end[q] of the arrays."""

    begin: IntArray
    end: IntArray
    columns: AnyArray
    values: Float32Array

    @classmethod
    def of_width(cls, columns: Int32Array, values: Float32Array, sizes: IntArray) -> Rows:
        """Of (q, width) arrays, of which the first sizes[q] entries count."""
        begin = np.arange(len(sizes)) * columns.shape[1]
        return cls(begin, begin + sizes, columns.reshape(-1), values.reshape(-1))

    @classmethod
    def of_matrix(cls, matrix: sparse.csr_array, which: AnyArray) -> Rows:
        """Rows of a matrix, without a copy."""
        indptr, columns, values = parts(matrix)
        return cls(indptr[which], indptr[which + 1], columns, values)

    def divergences(self, places: Int32Array, others: Parts) -> Float32Array:
        """(q, c): of each row and those of the listed places in a matrix; one where there is none (-1)."""
        mine = self.begin, self.end, self.columns, self.values
        threads, columns = min(numba.get_num_threads(), len(places)), len(others[0])  # items, and the query
        zeros = blank((threads, columns), 0, np.float32)
        return np.asarray(divergences_to(places, *mine, *others, ENTROPY, zeros))

    def matrix(self, width: int) -> sparse.csr_array:
        lengths = self.end - self.begin
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        taken = np.repeat(self.begin - indptr[:-1], lengths) + np.arange(indptr[-1])
        return csr(indptr, self.columns[taken], self.values[taken], width)


@dataclass(frozen=True, eq=False)
class Asked:
    """Queries, the scales of their plain distances, and their rows of F'.

    Of unseen ones `near` are the places of the nearest, of items `own` are their numbers. `shares`, if given,
    are fused in place of the plain distance.
    """

    queries: Vectors
    scale: Float32Array
    rows: Rows
    near: Neighbors | None
    own: IntArray | None
    shares: sparse.csr_array | None
