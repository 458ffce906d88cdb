"""Approximate search: how much of the truth it finds, what it says of that, and the same bytes each time."""

from __future__ import annotations

import numpy as np
import pytest
from neighbors_naive import naive_search, random_vectors, similarity_table

from foldwalk.core import Neighbors, Vectors
from foldwalk.neighbors import Searcher, knn_graph, prepare
from foldwalk.neighbors.approximate import SmallWorld
from foldwalk.neighbors.recall import measured_recall


def true_recall(found: Neighbors, truth: np.ndarray) -> float:
    hits = sum(len(set(a) & set(b) - {-1}) for a, b in zip(found.ids.tolist(), truth.tolist(), strict=True))
    return hits / max(1, (truth >= 0).sum())


def check_rows(found: Neighbors, gallery, queries, own=None) -> None:
    """Whatever was found is scored exactly, sorted, unique, and not the query itself."""
    table = similarity_table(gallery.values, queries.values, found.metric)
    known = found.ids >= 0
    claimed = np.take_along_axis(table, np.maximum(found.ids, 0).astype(np.int64), axis=1)
    assert np.allclose(claimed[known], found.similarities[known], atol=1e-6)
    assert (found.similarities[~known] == 0).all()
    for row, numbers in zip(found.ids.tolist(), found.similarities.tolist(), strict=True):
        there = [i for i in row if i >= 0]
        assert row[: len(there)] == there
        assert len(set(there)) == len(there)
        keys = [(-s, i) for s, i in zip(numbers, there, strict=False)]
        assert keys == sorted(keys)
    if own is not None:
        assert not (found.ids == own[:, None]).any()


def same_bytes(a: Neighbors, b: Neighbors) -> bool:
    return a.ids.tobytes() == b.ids.tobytes() and a.similarities.tobytes() == b.similarities.tobytes()


@pytest.fixture(scope="module")
def gallery() -> np.ndarray:
    """Some structure, as real descriptors have."""
    rng = np.random.default_rng(0)
    return np.repeat(rng.normal(size=(100, 32)), 20, axis=0) + 0.6 * rng.normal(size=(2000, 32))


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_small_world(gallery, metric):
    vectors = prepare(Vectors.check(gallery), metric)
    queries = prepare(Vectors.check(gallery[::10] + 0.1), metric)
    world = SmallWorld(vectors, metric, seed=0)
    found = world.search(queries, 10, None)
    check_rows(found, vectors, queries)
    assert true_recall(found, naive_search(vectors.values, queries.values, 10, metric)[0]) > 0.97
    assert (found.how, found.metric) == ("small world", metric)
    assert found.recall == world.recall
    # What it says of itself was measured on 200 rows and their 50 nearest.
    own = np.arange(len(vectors))
    everyone = world.search(vectors, 50, own)
    check_rows(everyone, vectors, vectors, own)
    truth = naive_search(vectors.values, vectors.values, 50, metric, own)[0]
    assert abs(true_recall(everyone, truth) - world.recall) < 0.02
    assert world.recall > 0.95
    again = SmallWorld(vectors, metric, seed=0)
    assert same_bytes(everyone, again.search(vectors, 50, own))
    assert again.recall == world.recall


def test_small_world_with_zero_rows(gallery):
    values = gallery[:300].copy()
    zero = np.array([0, 5, 299])
    values[zero] = 0
    vectors = prepare(Vectors.check(values), "cosine")
    own = np.arange(300)
    found = SmallWorld(vectors, "cosine", 0).search(vectors, 12, own)
    check_rows(found, vectors, vectors, own)
    assert (found.ids[zero] == -1).all()
    assert not np.isin(found.ids, zero).any()
    assert true_recall(found, naive_search(vectors.values, vectors.values, 12, "cosine", own)[0]) > 0.97


@pytest.mark.parametrize("present", [0, 1, 3])
def test_small_world_of_hardly_any_item(present):
    values = np.zeros((5, 3))
    values[:present] = np.eye(3)[:present] + 0.1
    vectors = prepare(Vectors.check(values), "cosine")
    found = Searcher(vectors, way="approximate").search(vectors, 5, np.arange(5))
    expected = naive_search(vectors.values, vectors.values, 5, "cosine", np.arange(5))[0]
    assert np.array_equal(np.sort(found.ids, axis=1), np.sort(expected, axis=1))


def test_measured_recall_by_hand():
    gallery = Vectors.check([[0.0], [1], [2], [3], [4], [5]])
    queries, own = Vectors.check([[0.0], [5]]), np.array([0, 5])
    found = Neighbors(np.array([[1, 3], [0, -1]], np.int32), np.zeros((2, 2), np.float32), "euclidean")
    assert measured_recall(found, gallery, queries, own) == 1 / 4


@pytest.mark.filterwarnings("ignore:Failed to correctly find n_neighbors")  # of 30 items there are not more
def test_descent_graph():
    """One test, because the first call compiles for the better part of a minute."""
    from foldwalk.neighbors.approximate import descent_graph

    own = np.arange(3000)
    for metric in ("cosine", "euclidean"):
        values = np.random.default_rng(0).normal(size=(3000, 32))
        zero = np.array([0, 1234, 2999])
        values[zero] = 0
        vectors = prepare(Vectors.check(values), metric)
        found = descent_graph(vectors, 10, metric, seed=3)
        check_rows(found, vectors, vectors, own)
        recall = true_recall(found, knn_graph(vectors, 10, metric, way="exact").ids)
        assert recall > 0.9
        assert abs(found.recall - recall) < 0.03
        assert (found.how, found.metric, found.k) == ("descent", metric, 10)
        if metric == "cosine":
            assert (found.ids[zero] == -1).all()
            assert not np.isin(found.ids, zero).any()
        else:
            assert (found.ids >= 0).all()
        assert same_bytes(found, knn_graph(vectors, 10, metric, way="approximate", seed=3))
    for present in (0, 1, 2, 30):
        values = np.zeros((30, 4))
        values[:present] = random_vectors(30, 4).values[:present]
        vectors = prepare(Vectors.check(values), "cosine")
        found = descent_graph(vectors, 5, "cosine", seed=0)
        expected = naive_search(vectors.values, vectors.values, 5, "cosine", np.arange(30))[0]
        assert np.array_equal(found.ids, expected)
