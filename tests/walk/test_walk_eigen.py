"""The largest eigenpairs against a dense solver, graphs in many pieces above all."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from walk_naive import some_transitions

from foldwalk.walk import largest_eigenpairs


def check_pairs(matrix: sparse.csr_array, count: int, close: float = 1e-5) -> np.ndarray:
    """Values as the dense solver has them; vectors true, orthonormal, with positive peaks."""
    values, vectors = largest_eigenpairs(matrix, count)
    dense = matrix.toarray().astype(np.float64)
    count = min(count, len(dense))
    assert values.shape == (count,)
    assert vectors.shape == (len(dense), count)
    exact = np.linalg.eigvalsh(dense)[::-1][:count]
    assert np.allclose(values, exact, atol=close)
    assert (np.diff(values) <= 1e-12).all()
    assert np.abs(dense @ vectors - vectors * values).max() < close
    assert np.abs(vectors.T @ vectors - np.eye(count)).max() < 1e-6
    peaks = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
    assert (peaks > 0).all()
    return values


@pytest.mark.parametrize("count", [1, 5, 30, 79, 80, 200])
@pytest.mark.parametrize("n", [1, 20, 80, 200])
def test_against_the_dense_solver(n, count):
    check_pairs(some_transitions(n, density=0.2), count)


def test_the_subspace_is_the_dense_solvers():
    matrix = some_transitions(200)
    _, vectors = largest_eigenpairs(matrix, 10)
    values, exact = np.linalg.eigh(matrix.toarray().astype(np.float64))
    assert values[-10] - values[-11] > 1e-4
    exact = exact[:, -10:]
    assert np.allclose(vectors @ vectors.T, exact @ exact.T, atol=1e-4)


@pytest.mark.parametrize("count", [3, 8, 12, 60])
def test_a_graph_in_pieces_has_its_largest_eigenvalue_many_times(count):
    """Eight pieces: eight times one. An iteration from a single vector finds it once."""
    values = check_pairs(some_transitions(400, parts=8, density=0.2), count)
    assert np.allclose(values[:8], 1, atol=1e-5)


def test_equal_pieces_in_any_order():
    piece = some_transitions(30, density=0.3).toarray()
    shuffle = np.random.default_rng(0).permutation(300)
    dense = np.kron(np.eye(10), piece)[np.ix_(shuffle, shuffle)]
    for count in (5, 15, 100):
        check_pairs(sparse.csr_array(dense), count)


def test_items_without_an_edge():
    assert np.array_equal(check_pairs(sparse.csr_array((70, 70), dtype=np.float32), 5), np.zeros(5))
    diagonal = sparse.csr_array(np.diag(np.arange(70, dtype=np.float32)))
    assert check_pairs(diagonal, 3).tolist() == [69, 68, 67]


def test_negative_eigenvalues_come_last():
    values = check_pairs(sparse.csr_array(-some_transitions(100)), 5)
    assert values[0] < 1


def test_the_same_seed_gives_the_same_bytes():
    matrix = some_transitions(200)
    first, second = (largest_eigenpairs(matrix, 10, seed=4) for _ in range(2))
    assert first[0].tobytes() == second[0].tobytes()
    assert first[1].tobytes() == second[1].tobytes()
    other = largest_eigenpairs(matrix, 10, seed=5)
    assert np.allclose(first[0], other[0], atol=1e-5)
    assert np.allclose(np.abs(first[1].T @ other[1]), np.eye(10), atol=1e-3)
