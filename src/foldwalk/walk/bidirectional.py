"""Diffusion from both sides: F <- alpha / 2 (F S + S F) + (1 - alpha) I, rows cut to their largest entries.

For a symmetric S >= 0. Row i of F S is a sum of rows of S, row i of S F a sum of rows of F: nothing but
sparse rows is touched, and a step costs n x cap x (edges of an item). The exact F is symmetric and stays so;
the cut is taken per row, so that the result is symmetric only up to what was cut off.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from scipy import sparse

from foldwalk.core.progress import task
from foldwalk.core.types import AnyArray, Float32Array, Int32Array, Scalar
from foldwalk.walk.csr import parts
from foldwalk.walk.rows import CHUNKS, pack, top_of_sparse_rows
from foldwalk.walk.select import kth_largest

SMALLEST = np.float32(1e-38)


@njit()
def keep_in_touched_order(
    scratch: Float32Array,
    touched: Int32Array,
    count: Scalar,
    cap: Scalar,
    work: Float32Array,
    out_ids: Int32Array,
    out_values: Float32Array,
) -> Scalar:
    """The `cap` largest entries of a scratch row, unsorted; among equals the first touched; clears it."""
    floor = np.float32(0)
    above = count
    if count > cap:
        for t in range(count):
            work[t] = scratch[touched[t]]
        floor = kth_largest(work, count, cap)
        above = 0
        for t in range(count):
            above += scratch[touched[t]] > floor
    equals = cap - above
    size = 0
    # Which entries stay cannot be guessed: all are moved up to the place of the next, without a branch.
    for t in range(np.uint64(count)):
        item = touched[t]
        value = scratch[np.uint64(item)]
        scratch[np.uint64(item)] = 0
        touched[np.uint64(size)] = item
        work[np.uint64(size)] = value
        size += (value > floor) | ((value == floor) & (equals > 0))
        equals -= value == floor
    out_ids[:size] = touched[:size]
    out_values[:size] = work[:size]
    return size


@njit()
def _add(
    ids: AnyArray,
    values: AnyArray,
    begin: Scalar,
    end: Scalar,
    weight: Scalar,
    scratch: Float32Array,
    touched: Int32Array,
    count: Scalar,
) -> Scalar:
    """`scatter` for rows that hold no zeros: a product that would vanish counts as the smallest number."""
    for entry in range(np.uint64(begin), np.uint64(end)):
        item = np.uint64(ids[entry])
        before = scratch[item]
        touched[np.uint64(count)] = item
        count += before == 0
        scratch[item] = before + max(weight * values[entry], SMALLEST)
    return count


@njit(cache=True, parallel=True)
def _step(
    indptr: AnyArray,
    indices: AnyArray,
    data: AnyArray,
    half: Scalar,
    restart: Scalar,
    ids: Int32Array,
    values: Float32Array,
    sizes: AnyArray,
    new_ids: Int32Array,
    new_values: Float32Array,
    new_sizes: AnyArray,
) -> None:
    n, cap = ids.shape
    for chunk in prange(CHUNKS):
        first, last = chunk * n // CHUNKS, (chunk + 1) * n // CHUNKS
        if first == last:
            continue
        scratch = np.zeros(n, np.float32)
        touched = np.empty(n + 1, np.int32)
        work = np.empty(n, np.float32)
        for row in range(first, last):
            scratch[row] = restart
            touched[0] = row
            count = 1
            for e in range(sizes[row]):
                weight, begin, end = half * values[row, e], indptr[ids[row, e]], indptr[ids[row, e] + 1]
                count = _add(indices, data, begin, end, weight, scratch, touched, count)
            for edge in range(indptr[row], indptr[row + 1]):
                other, weight = indices[edge], half * data[edge]
                count = _add(ids[other], values[other], 0, sizes[other], weight, scratch, touched, count)
            new_sizes[row] = keep_in_touched_order(
                scratch, touched, count, cap, work, new_ids[row], new_values[row]
            )


def two_sided_steps(
    transitions: sparse.csr_array, start: sparse.csr_array, alpha: float, steps: int, cap: int = 128
) -> sparse.csr_array:
    """F after `steps` steps from F = `start`, each row cut to its `cap` largest entries at every step."""
    n = transitions.shape[0]
    cap = min(cap, n)
    ids, values = np.empty((n, cap), np.int32), np.empty((n, cap), np.float32)
    new_ids, new_values = np.empty_like(ids), np.empty_like(values)
    sizes, new_sizes = np.zeros(n, np.int64), np.zeros(n, np.int64)
    _unpack(*parts(top_of_sparse_rows(start, cap)), ids, values, sizes)
    edges = parts(transitions)
    half, restart = np.float32(alpha / 2), np.float32(1 - alpha)
    with task("bidirectional diffusion", steps) as advance:
        for _ in range(steps):
            _step(
                *edges, half, restart,
                ids, values, sizes, new_ids, new_values, new_sizes,
            )  # fmt: skip
            ids, new_ids = new_ids, ids
            values, new_values = new_values, values
            sizes, new_sizes = new_sizes, sizes
            advance(1)
    del new_ids, new_values
    return pack(ids, values, sizes, n)


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
