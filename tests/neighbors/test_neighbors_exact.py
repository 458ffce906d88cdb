"""Exact search against a sort of all similarities: ties, duplicates, zero rows, far-off data, any order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbors_naive import assert_nearest, naive_search, random_vectors, similarity_table, unit_lattice

from foldwalk.core import Vectors
from foldwalk.neighbors import exact, knn_graph, prepare
from foldwalk.neighbors.exact import SPARE, exact_search

METRICS = ["cosine", "euclidean"]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("n", "d", "k"), [(1, 3, 1), (2, 1, 2), (9, 2, 9), (300, 40, 1), (300, 3, 25), (60, 600, 10)]
)
def test_search_of_new_queries(metric, n, d, k):
    gallery, queries = prepare(random_vectors(n, d), metric), prepare(random_vectors(33, d, seed=1), metric)
    found = exact_search(gallery, queries, k, metric)
    assert_nearest(found, gallery.values, queries.values, k, metric)
    assert (found.metric, found.recall, found.how) == (metric, 1.0, "exact")


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("n", "k"), [(2, 1), (8, 7), (250, 1), (250, 30), (250, 249)])
def test_graph_of_a_set_leaves_the_item_out(metric, n, k):
    vectors = prepare(random_vectors(n, 12), metric)
    assert_nearest(knn_graph(vectors, k, metric), vectors.values, vectors.values, k, metric, np.arange(n))


@pytest.mark.parametrize("k", [1, 5, 40, 200])
@pytest.mark.parametrize("metric", METRICS)
def test_ties_go_to_the_smaller_id(metric, k):
    """On a lattice every similarity is exact in float32, so that a stable sort must agree to the last id."""
    if metric == "cosine":
        gallery, queries = unit_lattice(200, 8, seed=0), unit_lattice(40, 8, seed=1)
    else:
        rng = np.random.default_rng(0)
        gallery, queries = (rng.integers(0, 3, size=(n, 5)).astype(np.float32) for n in (200, 40))
    found = exact_search(Vectors(gallery), Vectors(queries), k, metric)
    ids, similarities = naive_search(gallery, queries, k, metric)
    table = similarity_table(gallery, queries, metric)
    assert ((table == table.max(axis=1, keepdims=True)).sum(axis=1) > 1).any()
    assert np.array_equal(found.ids, ids)
    assert np.allclose(found.similarities, similarities, atol=1e-7)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n))),
    st.integers(1, 3),
    st.integers(0, 2**32 - 1),
)
def test_small_whole_numbers_agree_to_the_last_id(sizes, d, seed):
    (n, k), rng = sizes, np.random.default_rng(seed)
    gallery, queries = (rng.integers(-2, 3, size=(m, d)).astype(np.float32) for m in (n, 6))
    own = rng.integers(-1, n, size=6)
    found = exact_search(Vectors(gallery), Vectors(queries), k, "euclidean", own)
    assert np.array_equal(found.ids, naive_search(gallery, queries, k, "euclidean", own)[0])


@pytest.mark.parametrize("metric", METRICS)
def test_among_many_duplicates_the_smallest_ids_are_found(metric):
    """More equal items than there are candidates: which of them a matrix product finds first is chance."""
    k, copies = 5, 5 + SPARE + 60
    rng = np.random.default_rng(0)
    originals = rng.normal(size=(6, 24))
    labels = rng.permutation(np.repeat(np.arange(6), copies))
    vectors = prepare(Vectors.check(originals[labels]), metric)
    found = knn_graph(vectors, k, metric)
    for item, row in enumerate(found.ids):
        twins = np.flatnonzero(labels == labels[item])
        assert row.tolist() == twins[twins != item][:k].tolist()
    similarities = set(found.similarities.ravel().tolist())
    assert max(similarities) - min(similarities) < 1e-6


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dim", [8, 300])
def test_the_order_of_the_gallery_changes_nothing_even_among_near_duplicates(metric, dim):
    """Clusters narrower than the rounding of a matrix product, more items in each than candidates."""
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(4, dim)), 60, axis=0) + 3e-8 * rng.normal(size=(240, dim))
    values = prepare(Vectors.check(x), metric).values
    shuffle = rng.permutation(len(values))
    straight = knn_graph(Vectors(values), 5, metric)
    shuffled = knn_graph(Vectors(np.ascontiguousarray(values[shuffle])), 5, metric)
    assert np.array_equal(straight.similarities[shuffle], shuffled.similarities)
    table = similarity_table(values, values, metric)
    untied = (np.diff(straight.similarities, axis=1) < 0).all(axis=1)
    last = np.take_along_axis(table, straight.ids[:, -1:].astype(np.int64), axis=1)
    assert ((table > last + 1e-6).sum(axis=1) <= 5).all()
    for row in np.flatnonzero(untied)[:50]:
        place = int(np.flatnonzero(shuffle == row)[0])
        assert straight.ids[row, :4].tolist() == shuffle[shuffled.ids[place, :4]].tolist()


@pytest.mark.parametrize("metric", METRICS)
def test_the_order_of_the_gallery_changes_nothing(metric):
    vectors = prepare(random_vectors(300, 20), metric)
    shuffle = np.random.default_rng(1).permutation(300)
    straight = knn_graph(vectors, 20, metric)
    shuffled = knn_graph(Vectors(np.ascontiguousarray(vectors.values[shuffle])), 20, metric)
    assert np.array_equal(straight.ids[shuffle], shuffle[shuffled.ids])
    assert np.array_equal(straight.similarities[shuffle], shuffled.similarities)


@pytest.mark.parametrize("metric", METRICS)
def test_similarities_are_symmetric_to_the_last_bit(metric):
    vectors = prepare(random_vectors(70, 33), metric)
    found = knn_graph(vectors, 69, metric)
    table = np.zeros((70, 70), np.float32)
    np.put_along_axis(table, found.ids.astype(np.int64), found.similarities, axis=1)
    assert np.array_equal(table, table.T)


@pytest.mark.parametrize("offset", [1000.0, -1e5])
def test_euclidean_neighbours_far_from_the_origin(offset):
    """|q|^2 - 2 q x + |x|^2 loses every digit here; the answer must not."""
    rng = np.random.default_rng(0)
    values = (offset + abs(offset) * 1e-4 * rng.normal(size=(300, 16))).astype(np.float32)
    found = knn_graph(Vectors(values), 5, "euclidean")
    assert np.array_equal(found.ids, naive_search(values, values, 5, "euclidean", np.arange(300))[0])


def test_euclidean_neighbours_in_far_apart_clusters():
    rng = np.random.default_rng(0)
    centres = np.repeat([[1000.0], [-1000.0]], 100, axis=0)
    values = (centres + 0.01 * rng.normal(size=(200, 16))).astype(np.float32)
    found = knn_graph(Vectors(values), 5, "euclidean")
    assert np.array_equal(found.ids, naive_search(values, values, 5, "euclidean", np.arange(200))[0])


@pytest.mark.parametrize("size", [1e-3, 1e3, 1e15])
def test_euclidean_neighbours_at_any_scale(size):
    values = (size * np.random.default_rng(0).normal(size=(200, 8))).astype(np.float32)
    vectors = prepare(Vectors(values), "euclidean")
    found = knn_graph(vectors, 5, "euclidean")
    table = similarity_table(values, values, "euclidean")
    np.fill_diagonal(table, 0)
    ids = np.argsort(-table, axis=1, kind="stable")[:, :5]
    distance = 1 / np.take_along_axis(table, found.ids.astype(np.int64), axis=1) - 1
    assert np.allclose(distance, 1 / np.take_along_axis(table, ids, axis=1) - 1, rtol=2e-4)
    assert (found.ids == ids).mean() > 0.99


def test_zero_rows_find_nothing_and_are_found_by_nobody():
    values = prepare(random_vectors(40, 6), "cosine").values.copy()
    zero = np.array([0, 7, 8, 39])
    values[zero] = 0
    own = np.arange(40)
    found = knn_graph(Vectors(values), 39)
    assert_nearest(found, values, values, 39, "cosine", own)
    assert (found.ids[zero] == -1).all()
    assert not np.isin(found.ids, zero).any()
    rest = np.setdiff1d(own, zero)
    assert ((found.ids[rest] >= 0).sum(axis=1) == 35).all()


def test_zero_rows_are_ordinary_points_for_euclidean_distances():
    values = np.array([[0, 0], [3, 4], [0, 0], [0, 1]], np.float32)
    found = knn_graph(Vectors(values), 3, "euclidean")
    assert found.ids.tolist() == [[2, 3, 1], [3, 0, 2], [0, 3, 1], [0, 2, 1]]
    assert np.allclose(found.similarities[0], [1, 1 / 2, 1 / 6])


@pytest.mark.parametrize("k", [1, 3, 7])
def test_nothing_but_zero_rows(k):
    zeros = Vectors(np.zeros((8, 4), np.float32))
    found = exact_search(zeros, prepare(random_vectors(5, 4), "cosine"), k, "cosine")
    assert (found.ids == -1).all()
    assert (found.similarities == 0).all()
    assert (knn_graph(zeros, k).ids == -1).all()


def test_more_neighbours_than_items_end_in_none():
    gallery, queries = prepare(random_vectors(3, 4), "cosine"), prepare(random_vectors(2, 4, 1), "cosine")
    found = exact_search(gallery, queries, 3, "cosine", np.array([1, -1]))
    assert_nearest(found, gallery.values, queries.values, 3, "cosine", np.array([1, -1]))
    assert found.ids[0, 2] == -1


def test_own_is_passed_over_only_where_it_is_given():
    gallery = prepare(random_vectors(50, 5), "cosine")
    own = np.where(np.arange(50) % 2, np.arange(50), -1)
    found = exact_search(gallery, gallery, 4, "cosine", own)
    assert_nearest(found, gallery.values, gallery.values, 4, "cosine", own)
    assert (found.ids[::2, 0] == np.arange(0, 50, 2)).all()


@pytest.mark.parametrize("metric", METRICS)
def test_blocks_are_seamless(metric, monkeypatch):
    vectors, queries = prepare(random_vectors(90, 7), metric), prepare(random_vectors(101, 7, 1), metric)
    whole = exact_search(vectors, queries, 6, metric)
    monkeypatch.setattr(exact, "BLOCK_BYTES", 4 * 90 * 7)
    parts = exact_search(vectors, queries, 6, metric)
    assert np.array_equal(whole.ids, parts.ids)
    assert np.array_equal(whole.similarities, parts.similarities)
    assert np.array_equal(whole.least, parts.least)


def test_no_queries():
    nobody = Vectors(np.zeros((0, 3), np.float32))
    assert exact_search(random_vectors(5, 3), nobody, 2, "euclidean").ids.shape == (0, 2)


@pytest.mark.parametrize("metric", METRICS)
def test_the_farthest_is_noted(metric):
    gallery, queries = prepare(random_vectors(150, 9), metric), prepare(random_vectors(40, 9, 1), metric)
    table = similarity_table(gallery.values, queries.values, metric)
    assert np.allclose(exact_search(gallery, queries, 3, metric).least, table.min(axis=1), atol=1e-6)
