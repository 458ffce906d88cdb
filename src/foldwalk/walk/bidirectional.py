"""Diffusion from both sides: F <- alpha / 2 (F S + S F) + (1 - alpha) E, rows cut to their largest entries.

For symmetric S and E >= 0; E is the identity if nothing else is given. Row i of F S is a sum of rows of S,
row i of S F a sum of rows of F: nothing but sparse rows is touched, and a step costs n x cap x (edges of an
item). The exact F is symmetric and stays so; the cut is taken per row, so that the result is symmetric only
up to what was cut off.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from scipy import sparse

from foldwalk.core.progress import task
from foldwalk.core.types import AnyArray, Float32Array, Int32Array, Scalar
from foldwalk.walk.csr import Parts, parts
from foldwalk.walk.rows import CHUNKS, keep_in_touched_order, pack, room, scatter
from foldwalk.walk.rowwise import top_of_sparse_rows

# Rows hold no zeros: a product that would vanish counts as the smallest number.
SMALLEST = np.float32(1e-38)


@njit(cache=True, parallel=True)
def _step(
    edges: Parts,
    half: Scalar,
    target: Parts,
    restart: Scalar,
    ids: Int32Array,
    values: Float32Array,
    sizes: AnyArray,
    new_ids: Int32Array,
    new_values: Float32Array,
    new_sizes: AnyArray,
) -> None:
    indptr, indices, data = edges
    e_indptr, e_indices, e_data = target
    n, cap = ids.shape
    for chunk in prange(CHUNKS):
        first, last = chunk * n // CHUNKS, (chunk + 1) * n // CHUNKS
        if first == last:
            continue
        scratch = np.zeros(n, np.float32)
        touched = np.empty(n + 1, np.int32)
        work = np.empty(n, np.float32)
        for row in range(first, last):
            begin, end = e_indptr[row], e_indptr[row + 1]
            count = scatter(e_indices, e_data, begin, end, restart, scratch, touched, 0, SMALLEST)
            for e in range(sizes[row]):
                weight, begin, end = half * values[row, e], indptr[ids[row, e]], indptr[ids[row, e] + 1]
                count = scatter(indices, data, begin, end, weight, scratch, touched, count, SMALLEST)
            for edge in range(indptr[row], indptr[row + 1]):
                other, weight = indices[edge], half * data[edge]
                count = scatter(
                    ids[other], values[other], 0, sizes[other], weight, scratch, touched, count, SMALLEST
                )
            new_sizes[row] = keep_in_touched_order(
                scratch, touched, count, cap, work, new_ids[row], new_values[row]
            )


def two_sided_steps(
    transitions: sparse.csr_array,
    start: sparse.csr_array,
    alpha: float,
    steps: int,
    cap: int = 128,
    target: sparse.csr_array | None = None,
) -> sparse.csr_array:
    """F after `steps` steps from F = `start`, each row cut to its `cap` largest entries at every step.

    `target` is E.
    """
    n = transitions.shape[0]
    cap = min(cap, n)
    before, after = room(n, cap), room(n, cap)
    _unpack(*parts(top_of_sparse_rows(start, cap)), *before)
    edges = parts(transitions)
    towards = parts(sparse.eye_array(n, format="csr", dtype=np.float32) if target is None else target)
    half, restart = np.float32(alpha / 2), np.float32(1 - alpha)
    with task("bidirectional diffusion", steps) as advance:
        for _ in range(steps):
            _step(edges, half, towards, restart, *before, *after)
            before, after = after, before
            advance(1)
    del after
    return pack(*before, n)


@njit(cache=True, parallel=True)
def _unpack(
    indptr: AnyArray,
    indices: AnyArray,
    data: AnyArray,
    ids: Int32Array,
    values: Float32Array,
    sizes: AnyArray,
) -> None:
    """CSR rows, none wider than `ids`, into rows of that width."""
    for row in prange(ids.shape[0]):
        begin, end = indptr[row], indptr[row + 1]
        sizes[row] = end - begin
        ids[row, : end - begin] = indices[begin:end]
        values[row, : end - begin] = data[begin:end]
