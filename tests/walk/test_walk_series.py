"""Sums of walks beside dense matrix powers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from foldwalk.walk.series import two_sided_series, walk_series

WEIGHTS = [0.5, 0.0, 0.25, 2.0]


@pytest.fixture
def walk():
    rng = np.random.default_rng(0)
    matrix = sparse.random_array((30, 30), density=0.15, format="csr", dtype=np.float32, rng=rng)
    starts = sparse.random_array((7, 30), density=0.1, format="csr", dtype=np.float32, rng=rng)
    return matrix, starts


def test_one_side(walk):
    matrix, starts = walk
    dense = matrix.toarray().astype(np.float64)
    expected = sum(w * starts.toarray() @ np.linalg.matrix_power(dense, t) for t, w in enumerate(WEIGHTS))
    assert np.allclose(walk_series(matrix, starts, WEIGHTS, keep=30).toarray(), expected, rtol=1e-5)


def test_two_sides(walk):
    matrix, starts = walk
    dense = matrix.toarray().astype(np.float64)
    expected = sum(
        w * starts.toarray() @ np.linalg.matrix_power(dense, t) @ np.linalg.matrix_power(dense.T, t)
        for t, w in enumerate(WEIGHTS)
    )
    back = matrix.T.tocsr()
    assert np.allclose(
        two_sided_series(matrix, back, starts, WEIGHTS, keep=30).toarray(), expected, rtol=1e-5
    )


def test_every_intermediate_row_is_cut():
    """From item 0 to items 1 (.9), 2 (.5) and 3 (.1), each a loop; two are kept of a row."""
    matrix = sparse.csr_array(
        np.array([[0, 0.9, 0.5, 0.1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 9]], np.float32)
    )
    start = sparse.csr_array(np.array([[1, 0, 0, 0]], np.float32))
    assert np.allclose(walk_series(matrix, start, [0, 0, 1], keep=4).toarray(), [[0, 0.9, 0.5, 0.9]])
    assert np.allclose(walk_series(matrix, start, [0, 0, 1], keep=2).toarray(), [[0, 0.9, 0.5, 0]])


def test_rows_without_a_start_stay_empty(walk):
    matrix, _ = walk
    nothing = sparse.csr_array((3, 30), dtype=np.float32)
    assert walk_series(matrix, nothing, WEIGHTS, keep=5).nnz == 0
    assert two_sided_series(matrix, matrix, nothing, WEIGHTS, keep=5).nnz == 0


def test_many_rows_are_walked_in_blocks(walk, monkeypatch):
    matrix, starts = walk
    whole = walk_series(matrix, starts, WEIGHTS, keep=30).toarray()
    monkeypatch.setattr("foldwalk.walk.rows.BLOCK_BYTES", 8 * 30 * 2)
    assert (walk_series(matrix, starts, WEIGHTS, keep=30).toarray() == whole).all()
