"""Every kernel against a loop over the neighbours, absent ones and duplicates included."""

from __future__ import annotations

import math

import numpy as np
import pytest
from graph_naive import listed, some_neighbors, squared_distance

from foldwalk.core import BadInput, Neighbors
from foldwalk.graph import cosine_power, gaussian, inverse_distance, reach, relative_exponential

BOTH = pytest.mark.parametrize("metric", ["cosine", "euclidean"])


def by_loop(neighbors: Neighbors, weight) -> np.ndarray:
    expected = np.zeros(neighbors.ids.shape)
    for i, place, j, similarity in listed(neighbors):
        expected[i, place] = weight(i, j, similarity)
    return expected


def check(found: np.ndarray, expected: np.ndarray, rtol: float = 1e-5) -> None:
    assert found.dtype == np.float32
    assert np.allclose(found, expected, rtol=rtol, atol=1e-7)


@pytest.mark.parametrize("gamma", [1.0, 2.5, 3.0])
def test_cosine_power(gamma):
    neighbors = some_neighbors(n=9, k=8, missing=0.3)
    assert (neighbors.similarities < 0).any()
    check(cosine_power(neighbors, gamma), by_loop(neighbors, lambda _i, _j, s: max(s, 0) ** gamma))


@BOTH
def test_reach(metric):
    neighbors = some_neighbors(metric=metric, missing=0.3)
    expected = np.zeros(len(neighbors))
    for i, _, _, s in listed(neighbors):
        expected[i] = max(expected[i], math.sqrt(squared_distance(s, metric)))
    assert np.allclose(reach(neighbors), expected, rtol=1e-5)
    assert (neighbors.ids[:, 0] < 0).any()
    assert (reach(neighbors)[neighbors.ids[:, 0] < 0] == 0).all()


@BOTH
@pytest.mark.parametrize("sigma", [0.2, 1.0, 5.0])
def test_gaussian_of_fixed_width(metric, sigma):
    neighbors = some_neighbors(metric=metric, missing=0.3)
    expected = by_loop(neighbors, lambda _i, _j, s: math.exp(-squared_distance(s, metric) / sigma**2))
    check(gaussian(neighbors, "fixed", sigma), expected, rtol=1e-4)


@BOTH
def test_gaussian_of_median_width(metric):
    neighbors = some_neighbors(n=15, k=3, metric=metric)  # 45 edges: the median is one of them
    median = np.median([math.sqrt(squared_distance(s, metric)) for _, _, _, s in listed(neighbors)])
    expected = by_loop(neighbors, lambda _i, _j, s: math.exp(-squared_distance(s, metric) / median**2))
    check(gaussian(neighbors, "median"), expected)


@BOTH
def test_gaussian_of_local_width(metric):
    neighbors = some_neighbors(metric=metric)
    width = reach(neighbors)
    expected = by_loop(
        neighbors, lambda i, j, s: math.exp(-squared_distance(s, metric) / (width[i] * width[j]))
    )
    check(gaussian(neighbors), expected)


def test_gaussian_of_queries_takes_the_width_of_the_items_they_find():
    queries = Neighbors(np.array([[4, 0, -1]], np.int32), np.array([[0.5, 0.25, 0]], np.float32), "euclidean")
    widths = np.array([2.0, 9, 9, 9, 7, 1])
    own = 3  # the query's distance to the last item it finds
    expected = [[math.exp(-1 / (own * 7)), math.exp(-9 / (own * 2)), 0]]
    check(gaussian(queries, "local", reach_of_items=widths), np.array(expected))


def test_gaussian_of_duplicates_and_of_the_far_away():
    """Item 0 has nothing but duplicates: width 0. An edge to it from afar is weak, but it stays an edge."""
    ids = np.array([[1, 2], [0, 2], [0, 1], [0, 1]], np.int32)
    similarities = np.array([[1, 1], [1, 1], [1, 1], [0.1, 0.1]], np.float32)
    neighbors = Neighbors(ids, similarities)
    for scale in ("local", "median"):
        weights = gaussian(neighbors, scale)
        assert (weights[:3] == 1).all()
        assert (weights[3] > 0).all()
        assert (weights[3] < 1e-30).all()


def test_gaussian_without_any_neighbour():
    nobody = Neighbors(np.full((3, 2), -1, np.int32), np.zeros((3, 2), np.float32))
    for scale in ("fixed", "median", "local"):
        assert (gaussian(nobody, scale) == 0).all()


def test_gaussian_refuses_an_unknown_scale():
    with pytest.raises(BadInput, match="scale must be fixed, local or median, but it is 'global'"):
        gaussian(some_neighbors(), "global")


@BOTH
def test_inverse_distance(metric):
    neighbors = some_neighbors(metric=metric, missing=0.3)
    expected = by_loop(neighbors, lambda _i, _j, s: 1 / (1 + math.sqrt(squared_distance(s, metric))))
    check(inverse_distance(neighbors), expected)


@BOTH
def test_relative_exponential(metric):
    neighbors = some_neighbors(metric=metric, missing=0.3)
    maxima = np.random.default_rng(0).uniform(0.5, 4, size=len(neighbors)).astype(np.float32)
    expected = by_loop(
        neighbors, lambda i, _j, s: math.exp(-squared_distance(s, metric) / maxima[i] / 0.3**2)
    )
    check(relative_exponential(neighbors, maxima), expected, rtol=1e-4)
    expected = by_loop(neighbors, lambda _i, _j, s: math.exp(-squared_distance(s, metric) / 4))
    check(relative_exponential(neighbors, np.float32(4), sigma=1.0), expected, rtol=1e-4)


def test_relative_exponential_where_all_are_duplicates():
    twins = Neighbors(np.array([[1], [0]], np.int32), np.ones((2, 1), np.float32))
    assert relative_exponential(twins, np.zeros(2, np.float32)).tolist() == [[1], [1]]
