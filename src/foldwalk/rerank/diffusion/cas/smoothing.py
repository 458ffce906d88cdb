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

from foldwalk.core.types import AnyArray, Float32Array, Scalar
from foldwalk.walk.csr import parts

CHUNKS = 128


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


@njit(cache=True, parallel=True)
def _smooth(
    c_indptr: AnyArray,
    c_indices: AnyArray,
    values: AnyArray,
    x_indptr: AnyArray,
    x_indices: AnyArray,
    m_indptr: AnyArray,
    m_indices: AnyArray,
    m_data: AnyArray,
    b_indptr: AnyArray,
    b_indices: AnyArray,
    b_data: AnyArray,
    returning: AnyArray,
    block_mean: bool,
    beta: Scalar,
    out: AnyArray,
) -> None:
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
            core = x_indptr[i + 1] - x_indptr[i]
            for place in range(x_indptr[i], x_indptr[i + 1]):
                in_core[x_indices[place]] = i
            outside = 0
            for place in range(begin, end):
                if in_core[c_indices[place]] != i:
                    outside += 1
            if core <= 1 or outside <= 1:
                out[begin:end] = values[begin:end]
                continue
            share = np.float32(1.0 / core)
            r = np.float32(0)
            for place in range(x_indptr[i], x_indptr[i + 1]):
                member = x_indices[place]
                r += returning[member] * share
                for edge in range(b_indptr[member], b_indptr[member + 1]):
                    toward_core[b_indices[edge]] += b_data[edge] * share
            if block_mean:
                r = np.float32(0)
                for place in range(x_indptr[i], x_indptr[i + 1]):
                    member = x_indices[place]
                    for edge in range(m_indptr[member], m_indptr[member + 1]):
                        r += m_data[edge] * toward_core[m_indices[edge]] * share
            for place in range(begin, end):
                j = c_indices[place]
                if in_core[j] == i:
                    towards[place - begin] = r
                else:
                    reach = np.float32(0)
                    for edge in range(m_indptr[j], m_indptr[j + 1]):
                        reach += m_data[edge] * toward_core[m_indices[edge]]
                    towards[place - begin] = min(reach, r)
            for place in range(x_indptr[i], x_indptr[i + 1]):
                member = x_indices[place]
                for edge in range(b_indptr[member], b_indptr[member + 1]):
                    toward_core[b_indices[edge]] = 0
            if r * r + 2 * beta > 0:
                smooth_row(values[begin:end], towards[: end - begin], r, beta, out[begin:end])
            else:
                out[begin:end] = values[begin:end]


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
        *parts(similarity), *parts(core)[:2],
        *parts(transitions),
        *parts(backward),
        returning, reliability == "block", np.float32(beta), out,
    )  # fmt: skip
    return sparse.csr_array((out, similarity.indices, similarity.indptr), shape=similarity.shape)
