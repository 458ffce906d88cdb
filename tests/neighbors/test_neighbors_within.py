"""Products that serve both items: the same bytes as row by row, whatever the order of the set."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from neighbors_naive import random_vectors, unit_lattice
from threadpoolctl import threadpool_info

from foldwalk.core import Vectors
from foldwalk.core.seeds import generator
from foldwalk.neighbors import exact, knn_graph, prepare, within
from foldwalk.neighbors.within import nearest_within, rounds

METRICS = ["cosine", "euclidean"]


def sorted_classes(n: int, dim: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.repeat(rng.normal(size=(n // 50, dim)), 50, axis=0) + 0.3 * rng.normal(size=(n // 50 * 50, dim))


def along_a_line(n: int) -> np.ndarray:
    angles = np.linspace(0, 1.5, n)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


SETS = {
    "random": lambda: random_vectors(900, 10).values,
    "sorted classes": lambda: sorted_classes(700, 12),
    "line": lambda: along_a_line(500),
    "lattice": lambda: unit_lattice(600, 6, seed=0),
    "duplicates": lambda: np.repeat(random_vectors(20, 5).values, 30, axis=0),
    "zero rows": lambda: np.where(np.arange(600)[:, None] % 7 == 0, 0, random_vectors(600, 4).values),
}


def row_by_row(vectors, k, metric, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(exact, "_pays_within", lambda *_: False)
        return knn_graph(vectors, k, metric)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("block", [37, 64, 1000])
def test_the_same_bytes_as_row_by_row(name, metric, block, monkeypatch):
    vectors = prepare(Vectors.check(SETS[name]()), metric)
    monkeypatch.setattr(exact, "_pays_within", lambda *_: True)
    monkeypatch.setattr(within, "BLOCK", block)
    for k in (1, 12):
        found, expected = knn_graph(vectors, k, metric), row_by_row(vectors, k, metric, monkeypatch)
        assert np.array_equal(found.ids, expected.ids)
        assert found.similarities.tobytes() == expected.similarities.tobytes()
        assert np.allclose(found.least, expected.least, rtol=0, atol=1e-6)


@pytest.mark.parametrize("half", [None, np.linspace(0, 1, 400, dtype=np.float32)])
def test_candidates_and_farthest_against_a_sort(half):
    values = random_vectors(400, 9).values
    scores = values @ values.T if half is None else values @ values.T - half - half[:, None]
    seen: list[int] = []
    ids, farthest = nearest_within(values, half, 20, True, seen.append)
    whole = ids[:, 0] >= 0
    assert whole.mean() > 0.9
    expected = np.sort(np.argsort(-scores, axis=1)[:, :20], axis=1)
    assert np.array_equal(np.sort(ids[whole], axis=1), expected[whole])
    assert (ids[~whole] == -1).all()
    assert np.array_equal(farthest, scores.argmin(axis=1))
    assert sum(seen) == 400


def test_where_the_sample_misleads_the_row_is_searched_again(monkeypatch):
    """The first block is one narrow cluster: its items' floors leave out all the others."""
    values = random_vectors(800, 16).values.copy()
    sample = generator(0, "order").permutation(800)[:64]
    values[sample] = values[sample[0]] + 0.01 * values[sample]
    monkeypatch.setattr(within, "BLOCK", 64)
    vectors = prepare(Vectors(values), "cosine")
    misled = nearest_within(vectors.values, None, 150, True, lambda _: None)[0][:, 0] < 0
    assert misled[sample].all()
    monkeypatch.setattr(exact, "_pays_within", lambda *_: True)
    found, expected = knn_graph(vectors, 141), row_by_row(vectors, 141, "cosine", monkeypatch)
    assert np.array_equal(found.ids, expected.ids)


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_everybody_meets_everybody_once_and_nobody_twice_in_a_round(count):
    met = [sorted(pair) for pairs in rounds(count) for pair in pairs]
    assert sorted(map(tuple, met)) == [(i, j) for i in range(count) for j in range(i, count)]
    for pairs in rounds(count):
        seats = [i for pair in pairs for i in set(pair)]
        assert len(seats) == len(set(seats))


def test_the_number_of_threads_changes_nothing(monkeypatch):
    vectors = prepare(random_vectors(900, 10), "cosine")
    monkeypatch.setattr(within, "BLOCK", 50)
    threads = numba.get_num_threads()
    answers = []
    for count in (1, threads):
        numba.set_num_threads(count)
        answers.append(nearest_within(vectors.values, None, 20, True, lambda _: None))
    assert np.array_equal(answers[0][0], answers[1][0])
    assert np.array_equal(answers[0][1], answers[1][1])


def test_threads_of_matrix_products_are_as_before():
    def threads():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    before = threads()
    nearest_within(random_vectors(300, 8).values, None, 10, True, lambda _: None)
    assert threads() == before


def test_when_it_pays():
    assert exact._pays_within(10_000, 30)
    assert not exact._pays_within(1_000, 30)
    assert not exact._pays_within(10_000, 5_000)
    assert not exact._pays_within(100_000, 409)
