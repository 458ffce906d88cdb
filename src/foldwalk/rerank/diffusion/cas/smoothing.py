"""Neighbour-guided similarity smoothing (CAS, section 4.2): eq. 13 to 16.

Each row F_i lives on its local cluster C[i]. The trusted core xi[i] of an item says how much another item j
belongs to it: T_ij is the mean two-step transition probability from j to the core, cut at r, the mean one
within the core, and equal to r on the core itself. Eq. 13 pulls F_i towards (T_i / r) F_i under the
constraints that it stays non-negative, on the cluster, and of the same sum; its solution is eq. 15.

The two-step transition matrix M M is never formed: with v = the mean of the core's columns of M, the wanted
numbers are T_ij = sum_m M_jm v_m.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from scipy import sparse

from foldwalk.core.types import Float32Array, Int32Array, Scalar
from foldwalk.walk.csr import Parts, parts
from foldwalk.walk.rows import CHUNKS


def returning_probability(transitions: sparse.csr_array, backward: sparse.csr_array) -> Float32Array:
    """The diagonal of M M: the probability to be back after two steps."""
    products = sparse.csr_array(transitions.multiply(backward))
    return np.asarray(products.sum(axis=1, dtype=np.float32)).ravel()


@njit()
def smooth_row(
    values: Float32Array, towards: Float32Array, reliability: Scalar, beta: Scalar, out: Float32Array
) -> None:
    """Eq. 15: the optimum of eq. 13 for one row on its cluster."""
    r = reliability
    total = np.float32(0)
    weighted = np.float32(0)
    for j in range(values.shape[0]):
        total += values[j]
        weighted += towards[j] * values[j]
    denominator = r * r + 2 * beta
    shift = (r * r * total - r * weighted) / (values.shape[0] * denominator)
    for j in range(values.shape[0]):
        # The optimum is not negative; what rounding leaves below zero is zero.
        out[j] = max((r * towards[j] + 2 * beta) / denominator * values[j] + shift, np.float32(0))


@njit()
def add_columns(core: Int32Array, share: Scalar, backward: Parts, toward_core: Float32Array) -> None:
    """v of the core: its columns of M, each times `share`; `backward` is M transposed."""
    indptr, indices, data = backward
    for member in core:
        for edge in range(indptr[member], indptr[member + 1]):
            toward_core[indices[edge]] += data[edge] * share


@njit()
def clear_columns(core: Int32Array, backward: Parts, toward_core: Float32Array) -> None:
    indptr, indices, _ = backward
    for member in core:
        for edge in range(indptr[member], indptr[member + 1]):
            toward_core[indices[edge]] = 0


@njit()
def two_steps(
    start: Scalar, transitions: Parts, item: Scalar, toward_core: Float32Array, weight: Scalar
) -> Scalar:
    """`start` and, times `weight`, what leads from the item to the core in two steps: sum_m M_jm v_m."""
    indptr, indices, data = transitions
    for edge in range(indptr[item], indptr[item + 1]):
        start += data[edge] * toward_core[indices[edge]] * weight
    return start


@njit(cache=True, parallel=True)
def _smooth(
    similarity: Parts,
    cores: Parts,
    transitions: Parts,
    backward: Parts,
    returning: Float32Array,
    block_mean: bool,
    beta: Scalar,
    out: Float32Array,
) -> None:
    c_indptr, c_indices, values = similarity
    x_indptr, x_indices, _ = cores
    n = c_indptr.shape[0] - 1
    for chunk in prange(CHUNKS):
        first, last = chunk * n // CHUNKS, (chunk + 1) * n // CHUNKS
        if first == last:
            continue
        toward_core = np.zeros(n, np.float32)
        in_core = np.full(n, -1, np.int64)
        towards = np.empty(n, np.float32)
        for i in range(first, last):
            begin, end = c_indptr[i], c_indptr[i + 1]
            core = x_indices[x_indptr[i] : x_indptr[i + 1]]
            for member in core:
                in_core[member] = i
            outside = 0
            for place in range(begin, end):
                outside += in_core[c_indices[place]] != i
            out[begin:end] = values[begin:end]
            if core.shape[0] <= 1 or outside <= 1:
                continue
            share = np.float32(1.0 / core.shape[0])
            add_columns(core, share, backward, toward_core)
            r = np.float32(0)
            for member in core:
                if block_mean:
                    r = two_steps(r, transitions, member, toward_core, share)
                else:
                    r += returning[member] * share
            for place in range(begin, end):
                j = c_indices[place]
                reach = r
                if in_core[j] != i:
                    reach = two_steps(np.float32(0), transitions, j, toward_core, np.float32(1))
                towards[place - begin] = min(reach, r)
            clear_columns(core, backward, toward_core)
            if r * r + 2 * beta > 0:
                smooth_row(values[begin:end], towards[: end - begin], r, beta, out[begin:end])


def smooth(
    similarity: sparse.csr_array,
    core: sparse.csr_array,
    transitions: sparse.csr_array,
    backward: sparse.csr_array,
    returning: Float32Array,
    beta: float,
    reliability: str,
) -> sparse.csr_array:
    """F-hat: every row of F smoothed on its own cluster, where its core is larger than the item itself."""
    out = np.empty_like(similarity.data)
    _smooth(
        parts(similarity), parts(core), parts(transitions), parts(backward),
        returning, reliability == "block", np.float32(beta), out,
    )  # fmt: skip
    return sparse.csr_array((out, similarity.indices, similarity.indptr), shape=similarity.shape)
