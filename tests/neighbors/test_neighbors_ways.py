"""Which way of searching is chosen, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from neighbors_naive import assert_nearest, random_vectors

from foldwalk import neighbors
from foldwalk.core import BadInput, Vectors
from foldwalk.neighbors import Searcher, choose_way, knn_graph, prepare


def test_exact_while_it_is_affordable():
    assert choose_way(100_000, 100_000, 128) == "exact"
    assert choose_way(1_000_000, 1_000_000, 256) == "approximate"
    assert choose_way(1_000_000, 100, 256) == "exact"
    assert choose_way(10**10, 10**10, 10**4) == "approximate"


@pytest.mark.parametrize("k", [0, -1, 10, 11])
def test_the_graph_refuses_k(k):
    with pytest.raises(BadInput, match=f"k is {k}, but an item of 10 has 9 others; choose k from 1 to 9"):
        knn_graph(random_vectors(10, 3), k)


def test_one_item_has_no_neighbours():
    with pytest.raises(BadInput, match="k is 1"):
        knn_graph(random_vectors(1, 3), 1)


@pytest.mark.parametrize("k", [0, -1, 11])
def test_the_searcher_refuses_k(k):
    with pytest.raises(BadInput, match=f"k is {k}, but the gallery has 10 items"):
        Searcher(random_vectors(10, 3)).search(random_vectors(2, 3), k)


def test_refuses_unknown_metrics_and_ways():
    vectors = random_vectors(10, 3)
    with pytest.raises(BadInput, match="metric must be one of cosine, euclidean, but it is 'manhattan'"):
        prepare(vectors, "manhattan")
    with pytest.raises(BadInput, match="way must be auto, exact or approximate, but it is 'fast'"):
        knn_graph(vectors, 3, way="fast")
    with pytest.raises(BadInput, match="way must be"):
        Searcher(vectors, way="fast").search(vectors, 3)


def test_prepare():
    vectors = Vectors.check([[3, 4], [0, 0]])
    assert np.allclose(prepare(vectors, "cosine").values, [[0.6, 0.8], [0, 0]])
    halved = prepare(vectors, "euclidean", scale=2.0)
    assert (halved.values.tolist(), halved.scale) == ([[1.5, 2], [0, 0]], 2.0)
    assert prepare(vectors, "euclidean", scale=1.0) is vectors
    assert prepare(vectors, "euclidean").scale == 2.5  # from the middle of the two


def test_prepare_refuses_what_has_no_squared_distances_in_float32():
    for value in (1e19, -1e19, 3e38):
        rows = Vectors.check([[value, 0], [0, 1], [1, 1], [1, 0]])
        for scale in (None, 1.0):
            with pytest.raises(BadInput, match=r"as large as .*e\+.*scale the vectors down"):
                prepare(rows, "euclidean", scale)
    for size in (2e18, 2e38):
        huge = Vectors.check(np.array([[size, size], [-size, -size], [size, -size]]))
        found = knn_graph(prepare(huge, "euclidean"), 2, "euclidean")
        assert found.ids.tolist() == [[2, 1], [2, 0], [0, 1]]
        assert (found.similarities > 0.1).all()


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_the_searcher_by_the_exact_way(metric):
    gallery, queries = prepare(random_vectors(60, 5), metric), prepare(random_vectors(9, 5, 1), metric)
    own = np.arange(9)
    found = Searcher(gallery, metric).search(queries, 60, own)
    assert_nearest(found, gallery.values, queries.values, 60, metric, own)


def test_the_small_world_is_built_when_needed_and_once(monkeypatch):
    gallery, queries = prepare(random_vectors(400, 8), "cosine"), prepare(random_vectors(50, 8, 1), "cosine")
    monkeypatch.setattr(neighbors, "EXACT_WORK", 400 * 8 * 10)
    searcher = Searcher(gallery)
    assert searcher.search(Vectors(queries.values[:10]), 3).how == "exact"
    assert searcher.search(queries, 3).how == "small world"
    built = searcher._small_world
    assert searcher.search(queries, 4).how == "small world"
    assert searcher._small_world is built
