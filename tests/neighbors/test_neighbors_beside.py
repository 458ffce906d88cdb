"""Nearest items in one view, found beside those in another, against a search of all items."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk import views
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.vectors import Vectors
from foldwalk.datasets.sets.synthetic import synthetic
from foldwalk.neighbors import knn_graph
from foldwalk.neighbors.beside import lists_beside, nearest_beside, once
from foldwalk.neighbors.exact import exact_search

VIEWS = ("raw", "w25", "w50")


@pytest.fixture(scope="module")
def seen() -> dict[str, tuple[Vectors, Vectors]]:
    """Items of curves and queries near some of them, in each view."""
    items = np.asarray(synthetic(2_000, d=32, clusters=50, distractors=0).gallery)
    items = np.ascontiguousarray(items / (1 + np.arange(32) / 2), np.float32)
    noise = np.random.default_rng(0).normal(size=(60, 32))
    asked = Vectors((items[::33][:60] * (1 + 0.05 * noise)).astype(np.float32)).unit()
    gallery = Vectors(items).unit()
    learned = views.learn(VIEWS, gallery.values)
    return {
        name: (Vectors(view.see(gallery.values)), Vectors(view.see(asked.values)))
        for name, view in learned.items()
    }


def share(found: Neighbors, true: Neighbors) -> float:
    return float(np.mean([np.isin(a, b).mean() for a, b in zip(true.ids, found.ids, strict=True)]))


@pytest.mark.parametrize("name", VIEWS[1:])
def test_nearly_all_of_the_nearest_are_found(seen, name):
    items, asked = seen[name]
    starts = exact_search(*seen["raw"], 100, "cosine").ids
    found = nearest_beside(items, knn_graph(items, 20), asked, starts, 40)
    true = exact_search(items, asked, 40, "cosine")
    assert share(found, true) > 0.98
    both = np.isin(found.ids, -1, invert=True)
    assert both.all()
    assert (np.diff(found.similarities, axis=1) <= 0).all()
    for q in range(len(asked.values)):  # whoever is in both lists has the same similarity in both
        _, here, there = np.intersect1d(found.ids[q], true.ids[q], return_indices=True)
        assert np.array_equal(found.similarities[q][here], true.similarities[q][there])


def test_one_start_is_enough_to_walk_from(seen):
    items, asked = seen["w50"]
    true = exact_search(items, asked, 10, "cosine")
    alone = nearest_beside(items, knn_graph(items, 20), asked, np.ascontiguousarray(true.ids[:, 9:]), 10)
    assert share(alone, true) > 0.9


def test_queries_do_not_change_each_other(seen):
    items, asked = seen["w25"]
    graph, starts = knn_graph(items, 20), exact_search(*seen["raw"], 30, "cosine").ids
    together = nearest_beside(items, graph, asked, starts, 25)
    for q in (0, 17, 59):
        one = nearest_beside(items, graph, Vectors(asked.values[q : q + 1]), starts[q : q + 1], 25)
        assert np.array_equal(one.ids[0], together.ids[q])
        assert np.array_equal(one.similarities[0], together.similarities[q])


def test_without_a_start_nothing_is_found(seen):
    items, asked = seen["w25"]
    nobody = np.full((len(asked.values), 5), -1, np.int32)
    found = nearest_beside(items, knn_graph(items, 20), asked, nobody, 7)
    assert (found.ids == -1).all()
    assert (found.similarities == 0).all()


def test_lists_of_a_view_between_two_others_come_from_theirs(seen):
    lists = [knn_graph(seen[name][0], 30) for name in ("raw", "w50")]
    found = lists_beside(seen["w25"][0], lists, 20)
    true = knn_graph(seen["w25"][0], 20)
    assert share(found, true) > 0.98
    assert found.recall == pytest.approx(share(found, true), abs=0.02)
    assert (found.ids != np.arange(len(found))[:, None]).all()


def test_each_item_is_listed_once():
    lists = [np.array([[3, 1, -1], [2, 2, 0]], np.int32), np.array([[1], [2]], np.int32)]
    assert [sorted(set(row[row >= 0])) for row in once(lists)] == [[1, 3], [0, 2]]
    assert [int((row >= 0).sum()) for row in once(lists)] == [2, 2]
