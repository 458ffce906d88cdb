"""The overlap of sparse rows, all three measures, against dense double loops and against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import jensenshannon
from walk_naive import some_rows

from foldwalk.core import BadInput
from foldwalk.walk import InvertedList, multiply, scale_rows
from foldwalk.walk.overlap import ENTROPY, binary_entropy


def entropy(p: float) -> float:
    return 0.0 if p in (0, 1) else -p * math.log2(p) - (1 - p) * math.log2(1 - p)


def common(measure: str, a: float, b: float) -> float:
    if a == 0 or b == 0:
        return 0.0
    if measure == "product":
        return a * b
    if measure == "minimum":
        return min(a, b)
    return (a + b) / 2 * entropy(a / (a + b))


def naive_overlap(queries: np.ndarray, items: np.ndarray, measure: str) -> np.ndarray:
    return np.array(
        [
            [sum(common(measure, float(a), float(b)) for a, b in zip(q, i, strict=True)) for i in items]
            for q in queries
        ]
    )


@pytest.mark.parametrize("measure", ["product", "minimum", "jensen_shannon"])
@pytest.mark.parametrize(("q", "n", "columns"), [(1, 1, 1), (30, 25, 40), (150, 10, 6)])
def test_against_a_loop(measure, q, n, columns):
    queries, items = some_rows(q, columns, 0.3, seed=1), some_rows(n, columns, 0.3, seed=2)
    found = InvertedList(items).overlap(queries, measure)
    assert found.shape == (q, n)
    assert found.dtype == np.float32
    expected = naive_overlap(queries.toarray(), items.toarray(), measure)
    assert np.allclose(found.toarray(), expected, atol=2e-6)
    # One entry for each pair that shares a stored column, and no other.
    pattern = [
        sparse.csr_array((np.ones(m.nnz), m.indices, m.indptr), shape=m.shape) for m in (queries, items)
    ]
    shared = pattern[0].toarray() @ pattern[1].toarray().T > 0
    assert found.nnz == shared.sum()
    for row in range(q):
        columns_of_row = found.indices[found.indptr[row] : found.indptr[row + 1]]
        assert set(columns_of_row.tolist()) == set(np.flatnonzero(shared[row]).tolist())


def test_jensen_shannon_against_scipy():
    """For rows that sum to one, the divergence in bits is one minus the overlap."""
    queries, items = (scale_rows(some_rows(20, 30, 0.4, seed=s)) for s in (1, 2))
    found = InvertedList(items).overlap(queries, "jensen_shannon").toarray()
    for q, row in enumerate(queries.toarray()):
        for i, item in enumerate(items.toarray()):
            if row.any() and item.any():
                assert abs(1 - found[q, i] - jensenshannon(row, item, base=2) ** 2) < 5e-6


def test_a_distribution_has_everything_in_common_with_itself():
    rows = scale_rows(some_rows(30, 40, 0.3))
    lists = InvertedList(rows)
    full = np.diff(rows.indptr) > 0
    for measure in ("minimum", "jensen_shannon"):
        overlap = lists.overlap(rows, measure)
        assert np.allclose(overlap.diagonal()[full], 1, atol=1e-6)
        assert np.allclose(overlap.toarray(), overlap.toarray().T, atol=1e-6)
        assert overlap.toarray().max() <= 1 + 1e-6


def test_very_unequal_shares():
    """Where the entropy is too steep for a table: a millionth against nearly one."""
    for small in (1e-7, 1e-4, 0.01, 0.0199, 0.0201):
        a, b = np.float32([[small, 1 - small]]), np.float32([[1 - small, small]])
        found = InvertedList(sparse.csr_array(b)).overlap(sparse.csr_array(a), "jensen_shannon").toarray()
        assert np.isclose(found[0, 0], naive_overlap(a, b, "jensen_shannon")[0, 0], rtol=1e-4, atol=5e-7)


def test_binary_entropy_everywhere():
    shares = np.r_[0, np.geomspace(1e-9, 0.5, 300), 1 - np.geomspace(1e-6, 0.5, 300), 1].astype(np.float32)
    for share in shares:
        assert abs(binary_entropy(share, ENTROPY) - entropy(float(share))) < 2e-6


@pytest.mark.parametrize("measure", ["product", "minimum", "jensen_shannon"])
def test_zeros_stored_on_both_sides_count_nothing(measure):
    row = sparse.csr_array((np.float32([0, 0.5, 0.5]), np.array([0, 1, 2]), np.array([0, 3])), shape=(1, 4))
    expected = 0.5 if measure == "product" else 1
    assert InvertedList(row).overlap(row, measure).toarray().tolist() == [[expected]]
    zero = sparse.csr_array((np.float32([0]), np.array([0]), np.array([0, 1])), shape=(1, 4))
    assert InvertedList(zero).overlap(zero, measure).toarray().tolist() == [[0]]


def test_nothing_in_common():
    items = sparse.csr_array(np.float32([[1, 0, 0], [0, 1, 0]]))
    queries = sparse.csr_array(np.float32([[0, 0, 1], [0, 0, 0]]))
    assert InvertedList(items).overlap(queries, "minimum").nnz == 0
    assert InvertedList(items).overlap(sparse.csr_array((0, 3), dtype=np.float32), "minimum").shape == (0, 2)


def test_asked_twice_it_answers_the_same_bytes():
    queries, lists = some_rows(50, 30, 0.3, seed=1), InvertedList(some_rows(50, 30, 0.3, seed=2))
    first, second = (lists.overlap(queries, "jensen_shannon") for _ in range(2))
    assert first.data.tobytes() == second.data.tobytes()
    assert first.indices.tobytes() == second.indices.tobytes()


def test_refuses_an_unknown_measure():
    with pytest.raises(
        BadInput, match="measure must be one of product, minimum, jensen_shannon, but it is 'cosine'"
    ):
        InvertedList(some_rows(3, 3)).overlap(some_rows(3, 3), "cosine")


def test_product_cuts_nothing_off():
    left, right = some_rows(9, 40), some_rows(40, 23, seed=5)
    found = multiply(left, right)
    assert found.shape == (9, 23)
    assert np.allclose(found.toarray(), left.toarray() @ right.toarray(), atol=1e-5)


def test_rows_may_belong_to_other_items():
    queries, items = some_rows(6, 30), some_rows(17, 30, seed=5)
    order = np.random.default_rng(0).permutation(17).astype(np.int32)
    found = InvertedList(items[order], order).overlap(queries, "minimum").toarray()
    assert np.array_equal(found, InvertedList(items).overlap(queries, "minimum").toarray())
