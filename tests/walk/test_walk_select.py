"""The k largest of dense and of sparse rows: ties go to the smaller id, everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from walk_naive import check_rows, cut_rows, largest_of_row, some_rows

from foldwalk.walk import top_of_dense_rows, top_of_sparse_rows
from foldwalk.walk.select import kth_largest, kth_of_rows, offer, sort_heap


def check_dense(scores: np.ndarray, k: int) -> None:
    ids, values, lowest = top_of_dense_rows(scores, k)
    assert (lowest == scores.argmin(axis=1)).all()
    k = min(k, scores.shape[1])
    assert ids.shape == values.shape == (len(scores), k)
    assert (ids.dtype, values.dtype) == (np.int32, np.float32)
    for row, found, numbers in zip(scores, ids.tolist(), values, strict=True):
        assert found == largest_of_row(row, k)
        assert numbers.tolist() == row[found].tolist()


@pytest.mark.parametrize("k", [1, 2, 7, 49, 50, 99])
@pytest.mark.parametrize("levels", [1, 2, 5, 1000])
def test_dense_rows_with_ties(k, levels):
    scores = np.random.default_rng(levels).integers(-levels, levels, size=(30, 50))
    check_dense(scores.astype(np.float32), k)


@pytest.mark.parametrize("k", [1, 9, 10, 11, 31, 32, 33, 320])
@pytest.mark.parametrize("columns", [31, 32, 33, 320, 333])
def test_dense_rows_of_any_width(columns, k):
    rng = np.random.default_rng(columns)
    smooth = rng.normal(size=(6, columns))
    few = rng.integers(0, 3, size=(6, columns))
    check_dense(np.concatenate([smooth, few, np.sort(smooth), -np.sort(-smooth)]).astype(np.float32), k)


def test_dense_rows_in_order_and_with_infinities():
    rising = np.arange(40, dtype=np.float32)
    check_dense(np.stack([rising, rising[::-1], 0 * rising]), 6)
    check_dense(np.float32([[-np.inf, -np.inf, 1, -np.inf, np.inf, np.inf]]), 5)
    check_dense(np.full((2, 9), -np.inf, np.float32), 4)


def test_nothing_to_choose_from():
    assert top_of_dense_rows(np.zeros((3, 0), np.float32), 4)[0].shape == (3, 0)
    assert top_of_dense_rows(np.zeros((0, 3), np.float32), 2)[0].shape == (0, 2)
    assert top_of_dense_rows(np.zeros((3, 3), np.float32), 0)[0].shape == (3, 0)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=60), st.integers(0, 12), st.randoms())
def test_a_heap_keeps_the_best_in_whatever_order_they_come(numbers, capacity, rng):
    values, items = np.zeros(capacity, np.float32), np.full(capacity, -1, np.int32)
    order = list(range(len(numbers)))
    rng.shuffle(order)
    size = 0
    for item in order:
        size = offer(values, items, size, capacity, np.float32(numbers[item]), item)
    sort_heap(values, items, size)
    expected = largest_of_row(np.array(numbers), capacity)
    assert items[:size].tolist() == expected
    assert values[:size].tolist() == [numbers[i] for i in expected]


@pytest.mark.parametrize("k", [1, 2, 5, 19, 100])
@pytest.mark.parametrize("levels", [0, 1, 3])
def test_sparse_rows_with_ties_and_empty_rows(k, levels):
    matrix = some_rows(60, 90, levels=levels)
    before = matrix.copy()
    found = top_of_sparse_rows(matrix, k)
    dense = check_rows(found, cap=k)
    assert np.array_equal(dense, cut_rows(matrix.toarray(), k))
    assert (np.diff(found.indptr) == np.minimum(np.diff(matrix.indptr), k)).all()
    assert (before != matrix).nnz == 0


def test_sparse_rows_of_negative_numbers_and_of_unsorted_columns():
    data, indices = np.float32([-3, -1, -2, 5, 5, 5, 1]), np.array([4, 0, 2, 7, 3, 5, 1])
    matrix = sparse.csr_array((data, indices, np.array([0, 3, 3, 7])), shape=(3, 8))
    found = check_rows(top_of_sparse_rows(matrix, 2), cap=2)
    expected = np.zeros((3, 8))
    expected[0, [0, 2]] = [-1, -2]
    expected[2, [3, 5]] = 5
    assert np.array_equal(found, expected)


def test_sparse_rows_without_entries():
    assert top_of_sparse_rows(sparse.csr_array((4, 6), dtype=np.float32), 3).nnz == 0
    assert top_of_sparse_rows(sparse.csr_array((0, 6), dtype=np.float32), 3).shape == (0, 6)
    assert top_of_sparse_rows(some_rows(5, 9), 0).nnz == 0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=40), st.data())
def test_kth_largest(numbers, data):
    k = data.draw(st.integers(1, len(numbers)))
    beyond = np.float32([*numbers, 99, 99])  # what lies beyond `size` does not count
    assert kth_largest(beyond, len(numbers), k) == sorted(numbers, reverse=True)[k - 1]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=40), st.data())
def test_kth_largest_of_any_size_and_sign(numbers, data):
    k = data.draw(st.integers(1, len(numbers)))
    assert kth_largest(np.float32(numbers), len(numbers), k) == sorted(numbers, reverse=True)[k - 1]


@pytest.mark.parametrize("columns", [1, 7, 300, 2000])
def test_kth_largest_of_rows_is_that_of_sorting(columns):
    scores = np.random.default_rng(3).uniform(-1, 1, (5, columns)).astype(np.float32)
    scores[1] = 0.25  # all equal
    scores[2] = np.round(scores[2], 1)  # many ties
    scores[3, : columns // 2] = -1
    before = scores.copy()
    for rank in {1, columns // 3 + 1, columns}:
        assert np.array_equal(kth_of_rows(scores, rank), -np.sort(-scores)[:, rank - 1])
    assert np.array_equal(scores, before)
