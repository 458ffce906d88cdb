"""Local diffusion by pushing: work grows with what is reached, not with n.

Andersen, Chung and Lang 2006. Mass waits at items as a residual; as long as some residual is above the
threshold, that item keeps its share and pushes alpha times the rest to its neighbours. The result
underestimates start (I - alpha S)^-1, by the walks that begin at the residuals left behind.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from scipy import sparse

from foldwalk.core.errors import BadInput
from foldwalk.core.types import Float32Array, Int32Array, IntArray, Scalar
from foldwalk.walk.csr import Parts, parts
from foldwalk.walk.rows import CHUNKS, keep_largest, rows_of


@njit(cache=True, parallel=True)
def _push(
    starts: Parts,
    matrix: Parts,
    alpha: Scalar,
    threshold: Scalar,
    columns: int,
    out_ids: Int32Array,
    out_values: Float32Array,
    sizes: IntArray,
) -> None:
    indptr, indices, data = matrix
    start_indptr, start_indices, start_data = starts
    n, cap = out_ids.shape
    for chunk in prange(CHUNKS):
        first, last = chunk * n // CHUNKS, (chunk + 1) * n // CHUNKS
        if first == last:
            continue
        settled = np.zeros(columns, np.float32)
        residual = np.zeros(columns, np.float32)
        seen = np.zeros(columns, np.bool_)
        waiting = np.zeros(columns, np.bool_)
        touched = np.empty(columns, np.int32)
        queue = np.empty(columns, np.int32)
        for row in range(first, last):
            count, head, length = 0, 0, 0
            for edge in range(start_indptr[row], start_indptr[row + 1]):
                item = start_indices[edge]
                residual[item] = start_data[edge]
                seen[item] = True
                touched[count] = item
                count += 1
                if residual[item] > threshold:
                    waiting[item] = True
                    queue[length] = item
                    length += 1
            while length > 0:
                item = queue[head]
                head = head + 1 if head + 1 < columns else 0
                length -= 1
                waiting[item] = False
                mass = residual[item]
                residual[item] = 0
                settled[item] += mass
                for edge in range(indptr[item], indptr[item + 1]):
                    other = indices[edge]
                    if not seen[other]:
                        seen[other] = True
                        touched[count] = other
                        count += 1
                    residual[other] += alpha * data[edge] * mass
                    if residual[other] > threshold and not waiting[other]:
                        waiting[other] = True
                        end = head + length
                        queue[end if end < columns else end - columns] = other
                        length += 1
            for t in range(count):
                residual[touched[t]] = 0
                seen[touched[t]] = False
            sizes[row] = keep_largest(
                settled, touched, count, cap, np.float32(0), out_ids[row], out_values[row]
            )


def push_diffusion(
    matrix: sparse.csr_array,
    starts: sparse.csr_array,
    alpha: float,
    threshold: float = 1e-5,
    cap: int = 1000,
) -> sparse.csr_array:
    """starts (I - alpha S)^-1 for S >= 0, row by row, to a residual of `threshold` at every item."""
    if not threshold > 0:
        raise BadInput(f"threshold must be above 0, or the pushing never ends, but it is {threshold}.")
    numbers = np.float32(alpha), np.float32(threshold)
    return rows_of(_push, starts, starts.shape[1], cap, parts(matrix), *numbers)
