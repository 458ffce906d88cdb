"""Similarities of pairs: against numpy, and the same bits wherever they are computed."""

from __future__ import annotations

import numpy as np
import pytest
from neighbors_naive import random_vectors, similarity_table

from foldwalk.core import Vectors
from foldwalk.neighbors import knn_graph, prepare
from foldwalk.neighbors.similarity import pair_similarities, pair_similarity


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("dim", [1, 5, 64, 1000])
def test_stored_pairs(metric, dim):
    gallery, queries = prepare(random_vectors(30, dim), metric), prepare(random_vectors(4, dim, 1), metric)
    indptr, items = np.array([0, 3, 3, 4, 34]), np.r_[7, 0, 7, 29, np.arange(30)]
    values = pair_similarities(queries.values, gallery.values, indptr, items, metric == "cosine")
    table = similarity_table(gallery.values, queries.values, metric)
    expected = table[np.repeat(np.arange(4), np.diff(indptr)), items]
    assert values.dtype == np.float32
    assert np.allclose(values, expected, atol=1e-6)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("dim", [3, 100, 1280])
def test_the_same_bits_as_the_search(metric, dim):
    vectors = prepare(random_vectors(60, dim), metric)
    found = knn_graph(vectors, 20, metric)
    indptr = np.arange(0, 60 * 20 + 1, 20)
    again = pair_similarities(vectors.values, vectors.values, indptr, found.ids.ravel(), metric == "cosine")
    assert np.array_equal(again.reshape(60, 20), found.similarities)


def test_a_cosine_never_leaves_its_range():
    x = prepare(random_vectors(500, 37), "cosine").values
    for sign in (1, -1):
        values = pair_similarities(x, sign * x, np.arange(501), np.arange(500), True)
        assert np.abs(values).max() <= 1
        assert np.allclose(values, sign, atol=1e-6)


def test_by_hand():
    a, b = np.array([0.6, 0.8], np.float32), np.array([1, 0], np.float32)
    assert pair_similarity(a, b, True) == np.float32(0.6)
    assert np.isclose(pair_similarity(np.float32([3, 4]), np.float32([0, 0]), False), 1 / 6)
    assert pair_similarity(a, a, False) == 1


def test_equal_vectors_are_as_similar_to_anyone():
    x = np.repeat(random_vectors(3, 129).unit().values, 40, axis=0)
    found = knn_graph(Vectors(np.ascontiguousarray(x)), 119)
    table = np.ones((120, 120), np.float32)
    np.put_along_axis(table, found.ids.astype(np.int64), found.similarities, axis=1)
    for a in range(3):
        for b in range(3):
            block = table[40 * a : 40 * a + 40, 40 * b : 40 * b + 40]
            assert len(set(block[~np.eye(40, dtype=bool)].tolist())) == 1
