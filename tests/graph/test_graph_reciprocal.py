"""Reciprocal sets and their expansion against Python sets."""

from __future__ import annotations

import numpy as np
import pytest
from graph_naive import some_neighbors
from scipy import sparse

from foldwalk.core import Neighbors
from foldwalk.graph import expand_sets, radius, reciprocal_sets


def naive_reciprocal(neighbors: Neighbors, k: int) -> list[set[int]]:
    near = [{j for j in row[:k] if j >= 0} for row in neighbors.ids.tolist()]
    return [{i} | {j for j in near[i] if i in near[j]} for i in range(len(near))]


def naive_expand(sets: list[set[int]], halves: list[set[int]]) -> list[set[int]]:
    out = []
    for members in sets:
        grown = set(members)
        for j in members:
            if len(halves[j] & members) > 2 / 3 * len(halves[j]):
                grown |= halves[j]
        out.append(grown)
    return out


def as_sets(matrix: sparse.csr_array) -> list[set[int]]:
    rows = np.split(matrix.indices, matrix.indptr[1:-1])
    assert all((np.diff(row) > 0).all() for row in rows)
    assert (matrix.data == 1).all()
    return [set(row.tolist()) for row in rows]


def as_matrix(sets: list[set[int]], columns: int) -> sparse.csr_array:
    dense = np.zeros((len(sets), columns), np.float32)
    for row, members in enumerate(sets):
        dense[row, list(members)] = 1
    return sparse.csr_array(dense)


@pytest.mark.parametrize("missing", [0.0, 0.5])
@pytest.mark.parametrize("k", [0, 1, 3, 8, 99])
def test_reciprocal_sets(k, missing):
    neighbors = some_neighbors(n=60, k=8, missing=missing)
    assert as_sets(reciprocal_sets(neighbors, k)) == naive_reciprocal(neighbors, k)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [6, 9, 12])
def test_expansion(k, seed):
    neighbors = some_neighbors(n=150, k=12, seed=seed, missing=0.1)
    sets, halves = reciprocal_sets(neighbors, k), reciprocal_sets(neighbors, k // 2)
    expanded = expand_sets(sets, halves)
    expected = naive_expand(as_sets(sets), as_sets(halves))
    assert as_sets(expanded) == expected
    assert expected != as_sets(sets)
    assert expanded.shape == sets.shape


def test_two_thirds_exactly_are_not_enough():
    halves = [{0, 1, 9}, {1}, {2, 3, 4, 8}, {3}, {4}, set(), set(), set(), set(), set()]
    sets = [{0, 1}, {2, 3, 4}, set(), {5}]
    # Two of the three of halves[0] are there: too few. Three of the four of halves[2]: enough.
    expected = [{0, 1}, {2, 3, 4, 8}, set(), {5}]
    assert naive_expand(sets, halves) == expected
    assert as_sets(expand_sets(as_matrix(sets, 10), as_matrix(halves, 10))) == expected


def test_what_is_added_does_not_add_in_turn():
    """Members are judged against the set as it was: 3 comes in with 2 and does not bring 4."""
    halves = [{0}, {1}, {0, 1, 2, 3}, {2, 3, 4}, {4}]
    assert as_sets(expand_sets(as_matrix([{0, 1, 2}], 5), as_matrix(halves, 5))) == [{0, 1, 2, 3}]


@pytest.mark.parametrize("count", [0, 1, 127, 128, 300])
def test_random_sets_of_any_number(count):
    rng = np.random.default_rng(count)
    halves = [set(rng.integers(0, 25, size=rng.integers(0, 6)).tolist()) for _ in range(25)]
    sets = [set(rng.integers(0, 25, size=rng.integers(0, 20)).tolist()) for _ in range(count)]
    found = expand_sets(as_matrix(sets, 25) if count else sparse.csr_array((0, 25)), as_matrix(halves, 25))
    assert found.shape == (count, 25)
    if count:
        assert as_sets(found) == naive_expand(sets, halves)


@pytest.mark.parametrize("k", [1, 3, 6])
def test_radius_decides_who_would_be_among_the_nearest(k):
    neighbors = some_neighbors(n=40, k=6, missing=0.3)
    limits = radius(neighbors, k)
    assert limits.dtype == np.float32
    for row, values, limit in zip(neighbors.ids, neighbors.similarities, limits, strict=True):
        assert limit == (values[k - 1] if row[k - 1] >= 0 else -np.inf)


@pytest.mark.parametrize("k", [0, 7])
def test_radius_without_a_kth_neighbour_takes_in_everybody(k):
    assert (radius(some_neighbors(n=10, k=6), k) == -np.inf).all()
