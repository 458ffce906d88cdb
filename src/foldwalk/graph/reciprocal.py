"""Who is among the nearest of whom, both ways: k-reciprocal sets and their expansion (Zhong et al. 2017).

R(i, k) holds i itself and every j such that j is among the k nearest of i and i among the k nearest of j.
The expansion adds R(j, half) of each member j when more than two thirds of it lie in R(i, k) already.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray, Float32Array, Float64Array, Int32Array, IntArray, Scalar
from foldwalk.walk.csr import csr, parts
from foldwalk.walk.rows import CHUNKS, pack
from foldwalk.walk.select import sort_few


def reciprocal_sets(neighbors: Neighbors, k: int) -> sparse.csr_array:
    """R(i, k) as the rows of a sparse matrix of ones, i itself included; columns ascend."""
    k = min(k, neighbors.k)
    members = np.empty((len(neighbors), k + 1), np.int32)
    sizes = np.zeros(len(neighbors), np.int64)
    _mutual(neighbors.ids, k, members, sizes)
    return pack(members, np.ones(members.shape, np.float32), sizes, len(neighbors))


@njit(cache=True, parallel=True)
def _mutual(ids: Int32Array, k: int, members: Int32Array, sizes: IntArray) -> None:
    for row in prange(ids.shape[0]):
        size = 1
        members[row, 0] = row
        for place in range(k):
            other = ids[row, place]
            if other < 0:
                break
            for back in range(k):
                if ids[other, back] == row:
                    members[row, size] = other
                    size += 1
                    break
        sort_few(members[row], 0, size)
        sizes[row] = size


def radius(neighbors: Neighbors, k: int) -> Float32Array:
    """Each item's similarity to its k-th neighbour: who is as similar would be among its k nearest.

    An item with fewer neighbours takes in everybody.
    """
    if k > neighbors.k or k < 1:
        return np.full(len(neighbors), -np.inf, np.float32)
    last = neighbors.similarities[:, k - 1]
    return np.where(neighbors.ids[:, k - 1] >= 0, last, np.float32(-np.inf))


def mutuality(neighbors: Neighbors, rows: int = 20_000) -> Float64Array:
    """For each k from 1: the share of the items' k nearest who have the item among their own k nearest.

    Where there are more than `rows` items, every so many-th is looked at.
    """
    some = np.arange(0, len(neighbors), max(1, len(neighbors) // rows))
    mutual, known = np.zeros((2, neighbors.k), np.int64)
    _count_mutual(neighbors.ids, some, mutual, known)
    shares = np.cumsum(mutual) / np.maximum(np.cumsum(known), 1)
    return np.asarray(shares, dtype=np.float64)


@njit(cache=True)
def _count_mutual(ids: Int32Array, rows: IntArray, mutual: IntArray, known: IntArray) -> None:
    """How many edges there are at each place, and how many become mutual at that k."""
    for row in rows:
        for place in range(ids.shape[1]):
            other = ids[row, place]
            if other < 0:
                break
            known[place] += 1
            for back in range(ids.shape[1]):
                if ids[other, back] == row:
                    mutual[max(place, back)] += 1
                    break


def expand_sets(sets: sparse.csr_array, halves: sparse.csr_array) -> sparse.csr_array:
    """R*(i): each row of `sets` (q, n) joined with the rows of `halves` (n, n) that mostly lie in it."""
    count = sets.shape[0]
    sizes = np.zeros(count, np.int64)
    nothing = np.zeros(0, np.int32)
    _expand(*parts(sets)[:2], *parts(halves)[:2], sizes, sizes, nothing, False)
    indptr = np.zeros(count + 1, np.int64)
    np.cumsum(sizes, out=indptr[1:])
    members = np.empty(indptr[-1], np.int32)
    _expand(*parts(sets)[:2], *parts(halves)[:2], sizes, indptr, members, True)
    return csr(indptr, members, np.ones(len(members), np.float32), sets.shape[1])


@njit()
def expand_row(
    members: Int32Array,
    first: Scalar,
    size: Scalar,
    h_indptr: AnyArray,
    h_members: AnyArray,
    mark: AnyArray,
    row: Scalar,
) -> Scalar:
    """R* of one row: add what joins the members from `first` to `size`; returns how many there are then.

    `mark` is 2 row + 1 for the members, less than 2 row for others, and 2 row for those that are added.
    """
    end_of_set = size
    for m in range(first, end_of_set):
        begin, end = h_indptr[members[m]], h_indptr[members[m] + 1]
        common = 0
        for h in range(begin, end):
            common += mark[h_members[h]] == 2 * row + 1
        if 3 * common > 2 * (end - begin) and common < end - begin:
            for h in range(begin, end):
                other = h_members[h]
                if mark[other] < 2 * row:
                    mark[other] = 2 * row
                    members[size] = other
                    size += 1
    return size


@njit(cache=True, parallel=True)
def _expand(
    s_indptr: AnyArray,
    s_members: AnyArray,
    h_indptr: AnyArray,
    h_members: AnyArray,
    sizes: IntArray,
    out_indptr: IntArray,
    out: Int32Array,
    write: bool,
) -> None:
    count = s_indptr.shape[0] - 1
    items = h_indptr.shape[0]
    for chunk in prange(CHUNKS):
        first, last = chunk * count // CHUNKS, (chunk + 1) * count // CHUNKS
        if first == last:
            continue
        mark, members = np.full(items, -1, np.int64), np.empty(items, np.int32)
        for row in range(first, last):
            begin, size = s_indptr[row], s_indptr[row + 1] - s_indptr[row]
            for m in range(size):
                members[m] = s_members[begin + m]
                mark[members[m]] = 2 * row + 1
            size = expand_row(members, 0, size, h_indptr, h_members, mark, row)
            if write:
                begin = out_indptr[row]
                out[begin : begin + size] = members[:size]
                sort_few(out, begin, begin + size)
            else:
                sizes[row] = size
