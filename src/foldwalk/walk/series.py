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

from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray, Scalar
from foldwalk.walk.bidirectional import keep_in_touched_order
from foldwalk.walk.csr import parts
from foldwalk.walk.rows import BLOCK_BYTES, CHUNKS, pack, scatter


@njit()
def _walk_on(
    indptr: AnyArray,
    indices: AnyArray,
    data: AnyArray,
    ids: Int32Array,
    values: Float32Array,
    size: Scalar,
    scratch: Float32Array,
    touched: Int32Array,
) -> Scalar:
    """scratch += row times matrix; returns how many columns were touched."""
    count = 0
    for e in range(size):
        begin, end = indptr[ids[e]], indptr[ids[e] + 1]
        count = scatter(indices, data, begin, end, values[e], scratch, touched, count)
    return count


@njit(cache=True, parallel=True)
def _series(
    f_indptr: AnyArray,
    f_indices: AnyArray,
    f_data: AnyArray,
    b_indptr: AnyArray,
    b_indices: AnyArray,
    b_data: AnyArray,
    s_indptr: AnyArray,
    s_indices: AnyArray,
    s_data: AnyArray,
    weights: Float32Array,
    two_sides: bool,
    columns: int,
    out_ids: Int32Array,
    out_values: Float32Array,
    sizes: IntArray,
) -> None:
    n, keep = out_ids.shape
    terms = weights.shape[0]
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
            count = scatter(s_indices, s_data, begin, end, np.float32(1), scratch, touched, 0)
            lengths[0] = keep_in_touched_order(scratch, touched, count, keep, work, ids[0], values[0])
            for t in range(1, stages):
                count = _walk_on(
                    f_indptr, f_indices, f_data, ids[t - 1], values[t - 1], lengths[t - 1], scratch, touched
                )
                lengths[t] = keep_in_touched_order(scratch, touched, count, keep, work, ids[t], values[t])
            size = 0
            for t in range(terms - 1, -1, -1):
                stage = t if two_sides else 0
                count = _walk_on(
                    b_indptr, b_indices, b_data, out_ids[row], out_values[row], size, scratch, touched
                )
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
    return _in_blocks(matrix, matrix, starts, weights, keep, two_sides=False)


def two_sided_series(
    matrix: sparse.csr_array,
    back: sparse.csr_array,
    starts: sparse.csr_array,
    weights: npt.ArrayLike,
    keep: int,
) -> sparse.csr_array:
    """sum_t weights[t] starts S^t B^t, all >= 0, row by row, B (`back`) mostly the transposed S."""
    return _in_blocks(matrix, back, starts, weights, keep, two_sides=True)


def _in_blocks(
    forward: sparse.csr_array,
    back: sparse.csr_array,
    starts: sparse.csr_array,
    weights: npt.ArrayLike,
    keep: int,
    two_sides: bool,
) -> sparse.csr_array:
    count, columns = starts.shape
    keep = min(keep, columns)
    block = max(1, min(count, BLOCK_BYTES // (8 * keep)))
    ids, values = np.empty((block, keep), np.int32), np.empty((block, keep), np.float32)
    edges, back_edges = parts(forward), parts(back)
    s_indptr, s_indices, s_data = parts(starts)
    numbers = np.asarray(weights, np.float32)
    blocks = []
    for first in range(0, count, block):
        rows = min(block, count - first)
        sizes = np.zeros(rows, np.int64)
        _series(
            *edges, *back_edges, s_indptr[first : first + rows + 1], s_indices, s_data,
            numbers, two_sides, columns, ids[:rows], values[:rows], sizes,
        )  # fmt: skip
        blocks.append(pack(ids[:rows], values[:rows], sizes, columns))
    return blocks[0] if len(blocks) == 1 else sparse.vstack(blocks, format="csr")
