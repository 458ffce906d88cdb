"""The graph type: sizes, components, and the steps that made it."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from foldwalk.core import Graph


def graph_of(edges, n) -> Graph:
    dense = np.zeros((n, n), np.float32)
    for i, j in edges:
        dense[i, j] = dense[j, i] = 1
    return Graph(sparse.csr_array(dense), ("cosine^3",))


def test_sizes_and_isolated_items():
    graph = graph_of([(0, 1), (1, 2), (4, 5)], 7)
    assert (len(graph), graph.edges) == (7, 6)
    assert graph.isolated.tolist() == [False, False, False, True, False, False, True]


def test_components_against_a_flood():
    rng = np.random.default_rng(0)
    n = 60
    edges = [tuple(rng.integers(n, size=2)) for _ in range(40)]
    edges = [(i, j) for i, j in edges if i != j]
    reached_by = {i: {i} for i in range(n)}
    for _ in range(n):
        for i, j in edges:
            joined = reached_by[i] | reached_by[j]
            reached_by[i] = reached_by[j] = joined
    count, labels = graph_of(edges, n).components()
    groups = {frozenset(np.flatnonzero(labels == label).tolist()) for label in labels}
    assert groups == {frozenset(group) for group in reached_by.values()}
    assert count == len(groups)


def test_components_of_a_directed_graph_follow_edges_both_ways():
    one_way = Graph(sparse.csr_array(np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]], np.float32)))
    assert one_way.components()[0] == 1


def test_recipe():
    graph = graph_of([(0, 1)], 2)
    after = graph.then(graph.matrix, "symmetric")
    assert after.recipe == ("cosine^3", "symmetric")
    assert graph.recipe == ("cosine^3",)
    assert str(after) == "2 items, 2 edges (cosine^3 -> symmetric)"
    assert str(Graph(graph.matrix)) == "2 items, 2 edges (as given)"
