"""Neighbour lists to affinities, against a dense double loop."""

from __future__ import annotations

import numpy as np
import pytest
from graph_naive import listed, some_neighbors

from foldwalk.core import BadInput, Neighbors
from foldwalk.graph import knn_affinity


def dense_affinity(neighbors: Neighbors, weights: np.ndarray, links: str) -> np.ndarray:
    n = len(neighbors)
    own = np.zeros((n, n), np.float32)
    for i, place, j, _ in listed(neighbors):
        own[i, j] = max(weights[i, place], 0)
    out = np.zeros((n, n), np.float32)
    for i in range(n):
        for j in range(n):
            if links == "directed":
                out[i, j] = own[i, j]
            elif links == "union":
                out[i, j] = max(own[i, j], own[j, i])
            elif own[i, j] > 0 and own[j, i] > 0:
                out[i, j] = (own[i, j] + own[j, i]) / 2
    return out


@pytest.mark.parametrize("links", ["union", "mutual", "directed"])
@pytest.mark.parametrize(("n", "k", "missing"), [(2, 1, 0.0), (40, 6, 0.0), (40, 6, 0.4), (30, 29, 0.2)])
def test_against_a_loop(links, n, k, missing):
    neighbors = some_neighbors(n, k, missing=missing)
    weights = np.random.default_rng(1).normal(size=(n, k)).astype(np.float32)  # some below zero: no edges
    weights[0, 0] = 0
    graph = knn_affinity(neighbors, weights, links)
    matrix = graph.matrix
    assert matrix.format == "csr"
    assert matrix.dtype == np.float32
    assert matrix.shape == (n, n)
    assert matrix.has_canonical_format
    assert (matrix.data > 0).all()
    assert (matrix.diagonal() == 0).all()
    assert np.array_equal(matrix.toarray(), dense_affinity(neighbors, weights, links))
    if links != "directed":
        assert np.array_equal(matrix.toarray(), matrix.toarray().T)
    assert graph.recipe == (f"exact k={k}", links)


def test_by_hand():
    neighbors = Neighbors(np.array([[1], [2], [1], [-1]], np.int32), np.ones((4, 1), np.float32), how="given")
    weights = np.array([[0.5], [0.25], [0.75], [9]], np.float32)
    assert knn_affinity(neighbors, weights, "directed").matrix.toarray().tolist() == [
        [0, 0.5, 0, 0], [0, 0, 0.25, 0], [0, 0.75, 0, 0], [0, 0, 0, 0],
    ]  # fmt: skip
    assert knn_affinity(neighbors, weights, "union").matrix.toarray().tolist() == [
        [0, 0.5, 0, 0], [0.5, 0, 0.75, 0], [0, 0.75, 0, 0], [0, 0, 0, 0],
    ]  # fmt: skip
    mutual = knn_affinity(neighbors, weights)
    assert mutual.matrix.toarray().tolist() == [[0, 0, 0, 0], [0, 0, 0.5, 0], [0, 0.5, 0, 0], [0, 0, 0, 0]]
    assert mutual.isolated.tolist() == [True, False, False, True]
    assert mutual.components()[0] == 3
    assert mutual.recipe == ("given k=1", "mutual")


def test_nobody_knows_anybody():
    nobody = Neighbors(np.full((3, 2), -1, np.int32), np.zeros((3, 2), np.float32))
    for links in ("union", "mutual", "directed"):
        graph = knn_affinity(nobody, np.ones((3, 2), np.float32), links)
        assert (len(graph), graph.edges) == (3, 0)
        assert graph.isolated.all()


def test_refuses_other_links():
    with pytest.raises(BadInput, match="links must be union, mutual or directed, but it is 'any'"):
        knn_affinity(some_neighbors(), np.ones((40, 6), np.float32), "any")
