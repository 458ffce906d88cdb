"""Sums of walks of growing length, one sparse row at a time: a matrix iteration without its matrix.

The fixed-point iterations of diffusion unfold into sums over the number of steps t,

    one side     y  ->  sum_t w_t y S^t
    two sides    y  ->  sum_t w_t y S^t (S')^t

and a row y of either needs no other row of the result. Both are summed by Horner's rule from the longest
walk back to the shortest. Every intermediate row is cut to its `keep` largest entries, so the cost of a row
is steps x keep x (edges of an item), whatever n is; with keep >= n nothing is cut.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit, prange
from scipy import sparse

from foldwalk.core.types import Float32Array, Int32Array, IntArray
from foldwalk.walk.csr import Parts, parts
from foldwalk.walk.rows import CHUNKS, add_rows, keep_in_touched_order, rows_of, scatter


@njit(cache=True, parallel=True)
def _series(
    starts: Parts,
    forward: Parts,
    back: Parts,
    weights: Float32Array,
    two_sides: bool,
    columns: int,
    out_ids: Int32Array,
    out_values: Float32Array,
    sizes: IntArray,
) -> None:
    s_indptr, s_indices, s_data = starts
    n, keep = out_ids.shape
    terms, one = weights.shape[0], np.float32(1)
    stages = terms if two_sides else 1
    for chunk in prange(CHUNKS):
        first, last = chunk * n // CHUNKS, (chunk + 1) * n // CHUNKS
        if first == last:
            continue
        scratch, work = np.zeros(columns, np.float32), np.empty(columns, np.float32)
        touched = np.empty(columns + 1, np.int32)
        ids, values = np.empty((stages, keep), np.int32), np.empty((stages, keep), np.float32)
        lengths = np.zeros(stages, np.int64)
        for row in range(first, last):
            begin, end = s_indptr[row], s_indptr[row + 1]
            count = scatter(s_indices, s_data, begin, end, one, scratch, touched, 0)
            lengths[0] = keep_in_touched_order(scratch, touched, count, keep, work, ids[0], values[0])
            for t in range(1, stages):
                before = ids[t - 1], values[t - 1]
                count = add_rows(*before, 0, lengths[t - 1], one, forward, scratch, touched, 0)
                lengths[t] = keep_in_touched_order(scratch, touched, count, keep, work, ids[t], values[t])
            size = 0
            for t in range(terms - 1, -1, -1):
                stage = t if two_sides else 0
                count = add_rows(out_ids[row], out_values[row], 0, size, one, back, scratch, touched, 0)
                count = scatter(
                    ids[stage], values[stage], 0, lengths[stage], weights[t], scratch, touched, count
                )
                size = keep_in_touched_order(
                    scratch, touched, count, keep, work, out_ids[row], out_values[row]
                )
            sizes[row] = size


def walk_series(
    matrix: sparse.csr_array, starts: sparse.csr_array, weights: npt.ArrayLike, keep: int
) -> sparse.csr_array:
    """sum_t weights[t] starts S^t, all >= 0, row by row; columns of a row stand in no order."""
    return _summed(matrix, matrix, starts, weights, keep, two_sides=False)


def two_sided_series(
    matrix: sparse.csr_array,
    back: sparse.csr_array,
    starts: sparse.csr_array,
    weights: npt.ArrayLike,
    keep: int,
) -> sparse.csr_array:
    """sum_t weights[t] starts S^t B^t, all >= 0, row by row, B (`back`) mostly the transposed S."""
    return _summed(matrix, back, starts, weights, keep, two_sides=True)


def _summed(
    forward: sparse.csr_array,
    back: sparse.csr_array,
    starts: sparse.csr_array,
    weights: npt.ArrayLike,
    keep: int,
    two_sides: bool,
) -> sparse.csr_array:
    others = parts(forward), parts(back), np.asarray(weights, np.float32), two_sides
    return rows_of(_series, starts, starts.shape[1], keep, *others)
