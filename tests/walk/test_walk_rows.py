"""Sparse products and power series against dense ones, cut in the same way."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from walk_naive import check_rows, cut_rows, resolvent, some_rows, some_transitions

from foldwalk.walk import multiply_capped, power_series, rows, scale_rows
from foldwalk.walk.csr import csr
from foldwalk.walk.rows import pack


@pytest.mark.parametrize(("n", "m", "columns"), [(1, 1, 1), (40, 30, 50), (300, 20, 10), (7, 200, 129)])
@pytest.mark.parametrize("cap", [1, 4, 1000])
def test_product(n, m, columns, cap):
    left, right = some_rows(n, m, seed=1), some_rows(m, columns, seed=2)
    product = left.toarray().astype(np.float64) @ right.toarray()
    found = check_rows(multiply_capped(left, right, cap), cap=cap)
    assert np.allclose(found, cut_rows(product, cap), rtol=1e-5)


def test_product_with_ties_takes_the_smaller_columns():
    """Halves and quarters: every sum is exact, so that ties are ties."""
    left, right = some_rows(60, 40, levels=2, seed=1), some_rows(40, 50, levels=4, seed=2)
    product = left.toarray() @ right.toarray()
    for cap in (1, 3, 10):
        assert np.array_equal(multiply_capped(left, right, cap).toarray(), cut_rows(product, cap))


def test_product_above_a_threshold():
    left, right = some_rows(60, 40, levels=2, seed=1), some_rows(40, 50, levels=4, seed=2)
    product = left.toarray() @ right.toarray()
    assert (product == 0.5).any()
    found = multiply_capped(left, right, 50, threshold=0.5)
    assert np.array_equal(found.toarray(), np.where(product > 0.5, product, 0))
    assert (found.data > 0.5).all()


def test_stored_zeros_and_empty_rows_leave_nothing():
    left = sparse.csr_array((np.float32([0, 1]), np.array([0, 1]), np.array([0, 1, 2, 2])), shape=(3, 2))
    right = sparse.csr_array((np.float32([5, 0]), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 3))
    assert multiply_capped(left, right, 3).nnz == 0
    assert multiply_capped(sparse.csr_array((0, 2), dtype=np.float32), right, 3).shape == (0, 3)


def test_blocks_of_rows_are_seamless(monkeypatch):
    left, right = some_rows(50, 40, seed=1), some_rows(40, 60, seed=2)
    whole = multiply_capped(left, right, 9)
    monkeypatch.setattr(rows, "BLOCK_BYTES", 8 * 9 * 7)  # seven rows at a time
    parts = multiply_capped(left, right, 9)
    check_rows(parts, cap=9)
    assert parts.shape == whole.shape
    assert (parts != whole).nnz == 0


def test_a_float64_matrix_with_long_indices():
    left = some_rows(20, 20).astype(np.float64)
    left.indices, left.indptr = left.indices.astype(np.int64), left.indptr.astype(np.int64)
    assert np.allclose(multiply_capped(left, left, 20).toarray(), (left @ left).toarray(), rtol=1e-5)


def naive_series(transitions, starts, alpha, terms, threshold) -> np.ndarray:
    total = starts.astype(np.float64)
    term = total.copy()
    for _ in range(terms):
        term = alpha * term @ transitions.toarray().astype(np.float64)
        term[term <= threshold] = 0
        total += term
    return total


@pytest.mark.parametrize("terms", [0, 1, 5])
@pytest.mark.parametrize("threshold", [0.0, 1e-3, 0.05])
def test_series_term_by_term(terms, threshold):
    transitions, starts = some_transitions(), some_rows(25, 60, 0.05, seed=3)
    found = check_rows(power_series(transitions, starts, 0.9, terms, threshold))
    assert np.allclose(found, naive_series(transitions, starts.toarray(), 0.9, terms, threshold), atol=1e-5)


def test_series_approaches_the_resolvent():
    transitions, starts = some_transitions(), some_rows(25, 60, 0.05, seed=3)
    exact = starts.toarray() @ resolvent(transitions, 0.8)
    errors = [
        np.abs(power_series(transitions, starts, 0.8, terms, threshold).toarray() - exact).max()
        for terms, threshold in [(3, 1e-1), (12, 1e-2), (24, 1e-4), (100, 1e-8)]
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-5 < 1e-2 < errors[0]


def test_series_of_a_matrix_that_is_not_symmetric():
    walk = some_transitions()
    one_way = sparse.csr_array(sparse.triu(walk, format="csr"))
    starts = sparse.csr_array(np.eye(60, dtype=np.float32))
    assert np.allclose(
        power_series(one_way, starts, 0.9, 200, 0).toarray(), resolvent(one_way, 0.9), atol=1e-5
    )


def test_series_is_cut_to_the_largest():
    transitions, starts = some_transitions(), some_rows(25, 60, 0.05, seed=3)
    whole = power_series(transitions, starts, 0.9).toarray()
    found = check_rows(power_series(transitions, starts, 0.9, cap=7), cap=7)
    assert np.array_equal(found, cut_rows(whole, 7))


def test_series_without_a_walk_is_the_start():
    transitions, starts = some_transitions(), some_rows(25, 60, 0.05, seed=3)
    assert np.array_equal(power_series(transitions, starts, 0.0).toarray(), starts.toarray())
    nothing = sparse.csr_array((4, 60), dtype=np.float32)
    assert power_series(transitions, nothing, 0.9).nnz == 0


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_scale_rows(norm):
    matrix = some_rows(40, 30)
    matrix.data *= np.where(np.arange(matrix.nnz) % 3, 1, -1)
    before = matrix.toarray()
    found = scale_rows(matrix, norm)
    assert found.dtype == np.float32
    for row, scaled in zip(before.astype(np.float64), found.toarray(), strict=True):
        length = np.abs(row).sum() if norm == "l1" else np.sqrt((row**2).sum())
        assert np.allclose(scaled, row / length if length else 0, rtol=1e-6)
    assert np.array_equal(matrix.toarray(), before)
    assert (np.diff(matrix.indptr) == 0).any()


def test_scale_rows_of_extreme_numbers():
    matrix = sparse.csr_array(np.float32([[3e38, 3e38], [1e-40, 0], [0, 0]]))
    assert np.allclose(scale_rows(matrix, "l1").toarray(), [[0.5, 0.5], [1, 0], [0, 0]], rtol=1e-4)
    assert np.allclose(scale_rows(matrix, "l2").toarray(), [[0.5**0.5] * 2, [1, 0], [0, 0]], rtol=1e-4)


def test_pack():
    ids, values = np.array([[1, 2], [0, 9], [9, 9]], np.int32), np.float32([[5, 6], [7, 9], [9, 9]])
    packed = pack(ids, values, np.array([2, 1, 0]), 4)
    assert packed.toarray().tolist() == [[0, 5, 6, 0], [7, 0, 0, 0], [0, 0, 0, 0]]


def test_entries_below_zero_count_as_none():
    left = sparse.csr_array(np.array([[1.0, 1.0], [1.0, 1.0]], np.float32))
    right = sparse.csr_array(np.array([[-1.0, 0.5], [2.0, -0.25]], np.float32))
    assert np.allclose(multiply_capped(left, right, 2).toarray(), [[2, 0.5], [2, 0.5]])


def test_matrices_share_the_arrays_they_are_made_of():
    indices, data = np.int32([1, 0, 2]), np.float32([3, 4, 5])
    matrix = csr(np.array([0, 1, 1, 3]), indices, data, 4)
    assert np.array_equal(matrix.toarray(), [[0, 3, 0, 0], [0, 0, 0, 0], [4, 0, 5, 0]])
    assert np.shares_memory(matrix.indices, indices)
    assert np.shares_memory(matrix.data, data)
    assert multiply_capped(csr(np.array([0, 1, 3]), indices, data, 3), matrix, 2).indices.dtype == np.int32
