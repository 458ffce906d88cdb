"""Transition matrices against their dense formulas, with items that have no edge."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from foldwalk.core import BadInput, Graph
from foldwalk.graph import degrees, normalise


def some_graph(symmetric: bool = True, n: int = 30, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    dense = rng.random((n, n)) * (rng.random((n, n)) < 0.2)
    if symmetric:
        dense = np.maximum(dense, dense.T)
    np.fill_diagonal(dense, 0)
    for lonely in (0, 11, n - 1):
        dense[lonely] = dense[:, lonely] = 0
    return Graph(sparse.csr_array(dense.astype(np.float32)), ("some",))


def inverse(values: np.ndarray) -> np.ndarray:
    return np.array([1 / v if v > 0 else 0 for v in values])


def dense_formula(w: np.ndarray, how: str, restart: float) -> np.ndarray:
    rows, columns = inverse(w.sum(axis=1)), inverse(w.sum(axis=0))
    if how == "row":
        return np.diag(rows) @ w
    if how == "column":
        return w @ np.diag(columns)
    if how == "symmetric":
        return np.diag(np.sqrt(rows)) @ w @ np.diag(np.sqrt(rows))
    return (1 - restart) * np.diag(rows) @ w + restart * np.eye(len(w))


@pytest.mark.parametrize("how", ["row", "column", "symmetric", "pagerank"])
@pytest.mark.parametrize("symmetric", [True, False])
def test_against_the_formula(how, symmetric):
    graph = some_graph(symmetric)
    before = graph.matrix.toarray()
    after = normalise(graph, how, restart=0.3)
    assert after.matrix.dtype == np.float32
    assert after.matrix.format == "csr"
    assert after.matrix.has_canonical_format
    assert np.allclose(after.matrix.toarray(), dense_formula(before.astype(np.float64), how, 0.3), atol=1e-6)
    assert after.recipe == ("some", how)
    assert np.array_equal(graph.matrix.toarray(), before)


def test_none_is_the_graph_itself():
    graph = some_graph()
    assert normalise(graph, "none") is graph


def test_degrees():
    graph = some_graph(symmetric=False)
    assert np.allclose(degrees(graph), [sum(row) for row in graph.matrix.toarray().astype(float)])
    assert degrees(graph).dtype == np.float64


def test_rows_and_columns_are_distributions_or_empty():
    graph = some_graph(symmetric=False)
    rows, columns = graph.matrix.sum(axis=1) > 0, graph.matrix.sum(axis=0) > 0
    assert np.allclose(normalise(graph, "row").matrix.sum(axis=1), rows, atol=1e-6)
    assert np.allclose(normalise(graph, "column").matrix.sum(axis=0), columns, atol=1e-6)
    assert np.allclose(normalise(graph, "pagerank").matrix.sum(axis=1), np.where(rows, 1, 0.15), atol=1e-6)


def test_symmetric_keeps_symmetry_and_its_eigenvalues_within_one():
    matrix = normalise(some_graph(), "symmetric").matrix.toarray()
    assert np.allclose(matrix, matrix.T, atol=1e-7)
    values = np.linalg.eigvalsh(matrix.astype(np.float64))
    assert np.isclose(values.max(), 1, atol=1e-6)
    assert values.min() >= -1 - 1e-6


def test_isolated_items_keep_empty_rows():
    graph = some_graph()
    for how in ("row", "column", "symmetric"):
        assert np.array_equal(normalise(graph, how).isolated, graph.isolated)
    assert graph.isolated[[0, 11, 29]].all()


def test_no_edges_at_all():
    empty = Graph(sparse.csr_array((4, 4), dtype=np.float32))
    for how in ("row", "column", "symmetric"):
        assert normalise(empty, how).edges == 0
    assert np.allclose(normalise(empty, "pagerank", restart=0.25).matrix.toarray(), 0.25 * np.eye(4))


def test_sums_of_a_hub_are_exact():
    """A hundred thousand edges of 0.1, added one by one in float32, would be off by a ten-thousandth."""
    n = 100_000
    spokes, centre = np.arange(1, n + 1), np.zeros(n, int)
    one_way = sparse.csr_array((np.full(n, 0.1, np.float32), (centre, spokes)), shape=(n + 1, n + 1))
    graph = Graph(sparse.csr_array(one_way + one_way.T))
    assert np.isclose(degrees(graph)[0], n * np.float64(np.float32(0.1)), rtol=1e-6)
    for how, axis in (("row", 1), ("column", 0)):
        sums = normalise(graph, how).matrix.astype(np.float64).sum(axis=axis)
        assert np.allclose(sums, 1, rtol=1e-6)


def test_refuses_another_way():
    with pytest.raises(
        BadInput, match="normalisation must be none, row, column, symmetric or pagerank, not 'l2'"
    ):
        normalise(some_graph(), "l2")
