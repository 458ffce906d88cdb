"""Neighbours from elsewhere: what their numbers mean is told by the vectors."""

from __future__ import annotations

import faiss
import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from foldwalk import datasets, rerank
from foldwalk.core import BadInput, Vectors
from foldwalk.neighbors import knn_graph, prepare
from foldwalk.neighbors.given import taken
from samples import clustered

POINTS = (3 * clustered(n=150, d=12)[0] + 1).astype(np.float32)
K = 20


def take(numbers, metric, points=POINTS):
    given = Vectors.check(points)
    return taken(numbers, given, prepare(given, metric), metric)


def true(metric, points=POINTS, k=K):
    return knn_graph(prepare(Vectors.check(points), metric), k, metric)


def faiss_lists(points, metric, k=K + 1):
    index = (faiss.IndexFlatIP if metric == "cosine" else faiss.IndexFlatL2)(points.shape[1])
    index.add(np.ascontiguousarray(points))
    values, ids = index.search(np.ascontiguousarray(points), k)
    return ids, values


def unit(points):
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def same(found, wanted):
    assert (found.ids == wanted.ids).mean() > 0.99
    assert np.allclose(found.similarities, wanted.similarities, atol=1e-5)


# As databases give them -------------------------------------------------------------------------------------


def test_lists_of_faiss_are_taken_as_they_come():
    same(take(faiss_lists(unit(POINTS), "cosine"), "cosine"), true("cosine"))
    same(take(faiss_lists(unit(POINTS), "euclidean"), "cosine"), true("cosine"))  # squared distances
    same(take(faiss_lists(POINTS, "euclidean"), "euclidean"), true("euclidean"))


@pytest.mark.parametrize("size", [1e-7, 1e3, 1e12])
def test_euclidean_numbers_are_recognised_in_any_unit(size):
    points = (size * POINTS).astype(np.float32)
    wanted = true("euclidean", points)
    same(take(faiss_lists(points, "euclidean"), "euclidean", points), wanted)
    pairs = points[:, None].astype(float) - points[wanted.ids]
    lossy = (1 / (1 + np.linalg.norm(pairs, axis=2))).astype(np.float32)
    same(take((wanted.ids, lossy), "euclidean", points), wanted)  # 1e-7: nothing but ones
    same(take((wanted.ids, wanted.similarities), "euclidean", points), wanted)
    same(take(wanted, "euclidean", points), wanted)
    assert take(wanted, "euclidean", points).how == "exact"


def test_the_order_and_gaps_do_not_matter():
    ids, values = faiss_lists(unit(POINTS), "cosine")
    shuffle = np.random.default_rng(0).permuted(np.tile(np.arange(K + 1), (len(ids), 1)), axis=1)
    ids, values = (np.take_along_axis(a, shuffle, axis=1) for a in (ids, values))
    same(take((ids, values), "cosine"), true("cosine"))
    gaps = np.full((len(ids), 2), -1)
    nothing = np.tile(np.float32([-3.4028235e38, np.nan]), (len(ids), 1))
    found = take((np.hstack([gaps, ids]), np.hstack([nothing, values])), "cosine")
    assert found.k == K + 2
    assert (found.ids[:, K:] == -1).all()
    same(found.first(K), true("cosine"))


def test_an_item_that_is_missing_from_its_own_list_loses_the_last():
    doubled = np.concatenate([POINTS, POINTS[:3]])  # FAISS may list the copy instead
    ids, values = faiss_lists(unit(doubled), "cosine")
    found = take((ids, values), "cosine", doubled)
    assert found.k == K
    assert (found.ids >= 0).all()
    assert not (found.ids == np.arange(len(doubled))[:, None]).any()


def test_one_stray_item_in_its_own_list_leaves_a_gap():
    wanted = true("cosine")
    ids, values = wanted.ids.astype(np.int64), wanted.similarities.copy()
    ids[4, 7] = 4
    found = take((ids, values), "cosine")
    assert (found.k, int((found.ids < 0).sum()), found.ids[4, -1]) == (K, 1, -1)


@pytest.mark.parametrize("grain", [np.float16, 1 / 127])
def test_quantised_similarities_are_taken(grain):
    wanted = true("cosine")
    coarse = (
        wanted.similarities.astype(grain)
        if grain is np.float16
        else np.round(wanted.similarities / grain) * grain
    )
    found = take((wanted.ids, coarse), "cosine")
    assert np.allclose(np.sort(found.similarities), np.sort(coarse.astype(np.float32)))


def test_zero_rows_are_not_asked():
    holed = POINTS.copy()
    holed[:60] = 0
    wanted = true("cosine", holed)
    same(take((wanted.ids, wanted.similarities), "cosine", holed), wanted)
    nothing = np.full((150, 3), -1), np.zeros((150, 3))
    assert (take(nothing, "cosine").ids == -1).all()


# What is refused --------------------------------------------------------------------------------------------


def distances_of(points, metric):
    found = NearestNeighbors(n_neighbors=K, metric=metric).fit(points).kneighbors()
    return found[1], found[0]


@pytest.mark.parametrize(
    ("numbers", "metric", "sentence"),
    [
        (distances_of(POINTS, "cosine"), "cosine", r"look like cosine distances.*pass 1 - distances\."),
        (distances_of(unit(POINTS), "euclidean"), "cosine", r"Euclidean distances of unit.*\*\* 2 / 2"),
        (faiss_lists(POINTS, "cosine"), "cosine", "look like inner products.*length one"),
        (faiss_lists(POINTS, "euclidean"), "cosine", 'squared Euclidean distances.*metric="euclidean"'),
        (distances_of(POINTS, "euclidean"), "cosine", "look like Euclidean distances"),
        (distances_of(POINTS, "euclidean"), "euclidean", r"pass 1 / \(1 \+ distances\)"),
        (distances_of(POINTS, "cosine"), "euclidean", 'cosine distances.*metric="cosine"'),
    ],
)
def test_other_numbers_are_refused_with_what_they_look_like(numbers, metric, sentence):
    with pytest.raises(BadInput, match=sentence):
        rerank.create("dfs", metric=metric, k=10).fit(POINTS, neighbors=numbers)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_numbers_that_are_nothing_are_refused(metric):
    ids = true(metric).ids
    random = np.random.default_rng(0).random(ids.shape)
    for numbers in (random, np.zeros(ids.shape), -random, np.full(ids.shape, 1e30)):
        with pytest.raises(BadInput, match="not similarities of the vectors"):
            take((ids, numbers), metric)
    elsewhere = true(metric, np.random.default_rng(1).normal(size=POINTS.shape))
    with pytest.raises(BadInput, match="of this very gallery"):
        take((elsewhere.ids, elsewhere.similarities), metric)


def test_what_cannot_be_read_is_still_refused():
    wanted = true("cosine")
    for ids, values, sentence in (
        (wanted.ids + 1000, wanted.similarities, "between -1"),
        (wanted.ids * 0.5, wanted.similarities, "whole numbers"),
        (wanted.ids, np.full(wanted.ids.shape, np.nan), "not finite"),
        (wanted.ids[:5], wanted.similarities[:5], "5 rows, but the gallery has 150"),
        (wanted.ids, wanted.similarities[:, 1:], "2-D and alike"),
        (np.repeat(wanted.ids[:, :1], 3, axis=1), wanted.similarities[:, :3], "twice"),
        (wanted.ids[0], wanted.similarities[0], "2-D"),
    ):
        with pytest.raises(BadInput, match=sentence):
            take((ids, values), "cosine")


# On real data -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits():
    return datasets.load("digits")


def first_answers(digits, name, neighbors=None, **parameters):
    method = rerank.create(name, **parameters).fit(digits.gallery, neighbors=neighbors)
    return method.rank_self(top=30).ids


@pytest.mark.parametrize("name", ["dfs", "cas"])
def test_digits_cosine_distances_do_not_ruin_the_ranking(digits, name):
    found = NearestNeighbors(n_neighbors=80, metric="cosine").fit(digits.gallery).kneighbors()
    with pytest.raises(BadInput, match="look like cosine distances"):
        rerank.create(name).fit(digits.gallery, neighbors=(found[1], found[0]))
    mended = first_answers(digits, name, (found[1], 1 - found[0]))
    assert (mended == first_answers(digits, name)).mean() > 0.99


def test_digits_squared_distances_of_faiss_are_converted(digits):
    lists = faiss_lists(digits.gallery, "euclidean", 60)
    found = first_answers(digits, "dfs", lists, metric="euclidean")
    assert (found == first_answers(digits, "dfs", metric="euclidean")).mean() > 0.99
