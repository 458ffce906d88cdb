"""Conjugate gradients for many right-hand sides, against a dense solve."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from walk_naive import resolvent, some_transitions

from foldwalk.walk import columns_per_block, solve_dense, solve_diffusion


def some_sides(n: int = 60, columns: int = 7, dtype=np.float64, seed: int = 1) -> np.ndarray:
    sides = np.random.default_rng(seed).normal(size=(n, columns)).astype(dtype)
    sides[:, columns // 2] = 0
    return sides


@pytest.mark.parametrize("parts", [1, 5])
@pytest.mark.parametrize("alpha", [0.3, 0.9, 0.99])
@pytest.mark.parametrize(
    ("dtype", "tolerance", "close"), [(np.float64, 1e-12, 1e-9), (np.float32, 1e-6, 2e-4)]
)
def test_against_a_dense_solve(alpha, parts, dtype, tolerance, close):
    transitions, sides = some_transitions(parts=parts), some_sides(dtype=dtype)
    before = sides.copy()
    found = solve_diffusion(transitions, sides, alpha, tolerance, max_iterations=500)
    assert found.dtype == dtype
    assert found.shape == sides.shape
    exact = resolvent(transitions, alpha) @ sides
    assert np.abs(found - exact).max() < close * np.abs(exact).max()
    assert (found[:, 3] == 0).all()
    assert np.array_equal(sides, before)


@pytest.mark.parametrize(("n", "columns"), [(1, 1), (3, 200), (63, 1), (64, 2), (65, 500), (300, 3)])
def test_any_number_of_rows_and_columns(n, columns):
    transitions, sides = some_transitions(n), some_sides(n, columns)
    exact = resolvent(transitions, 0.9) @ sides
    assert np.allclose(solve_diffusion(transitions, sides, 0.9, 1e-12, 500), exact, atol=1e-9)


def test_columns_do_not_disturb_each_other():
    """Alone, beside a column that needs no step, and beside one a million times as large."""
    transitions = some_transitions()
    column = some_sides(columns=3)[:, :1]
    alone = solve_diffusion(transitions, column, 0.99, 1e-10, 500)
    beside = solve_diffusion(
        transitions, np.hstack([1e6 * some_sides(), column, 0 * column]), 0.99, 1e-10, 500
    )
    assert np.allclose(beside[:, -2:-1], alone, rtol=1e-9, atol=1e-12)


def test_without_a_walk_the_answer_is_the_question():
    sides = some_sides()
    assert np.allclose(solve_diffusion(some_transitions(), sides, 0.0), sides, atol=1e-12)
    empty = sparse.csr_array((60, 60), dtype=np.float32)
    assert np.allclose(solve_diffusion(empty, sides, 0.99), sides, atol=1e-12)


def test_nothing_in_nothing_out():
    assert (solve_diffusion(some_transitions(), np.zeros((60, 4), np.float32), 0.99) == 0).all()
    assert solve_diffusion(some_transitions(), np.zeros((60, 0)), 0.99).shape == (60, 0)


def test_tolerance_is_relative_to_each_column():
    transitions, sides = some_transitions(), some_sides() * 10.0 ** np.arange(-3, 4)
    system = np.eye(60) - 0.99 * transitions.toarray().astype(np.float64)
    residual = sides - system @ solve_diffusion(transitions, sides, 0.99, 1e-5, 500)
    lengths, allowed = np.linalg.norm(residual, axis=0), 1e-5 * np.linalg.norm(sides, axis=0)
    assert (lengths <= allowed * 1.001).all()
    assert lengths.max() > 0


def naive_conjugate_gradients(system: np.ndarray, b: np.ndarray, steps: int) -> np.ndarray:
    x, r = np.zeros_like(b), b.copy()
    p = r.copy()
    for _ in range(steps):
        step = r @ r / (p @ system @ p)
        x = x + step * p
        after = r - step * system @ p
        p = after + after @ after / (r @ r) * p
        r = after
    return x


@pytest.mark.parametrize("steps", [0, 1, 3, 10])
def test_cut_short_it_has_gone_that_many_steps(steps):
    transitions, sides = some_transitions(), some_sides()[:, :3]
    system = np.eye(60) - 0.99 * transitions.toarray().astype(np.float64)
    found = solve_diffusion(transitions, sides, 0.99, 1e-15, max_iterations=steps)
    for column, b in zip(found.T, sides.T, strict=True):
        assert np.allclose(column, naive_conjugate_gradients(system, b, steps), atol=1e-8)


def test_whole_numbers_and_other_layouts():
    transitions = some_transitions()
    exact = resolvent(transitions, 0.9)
    for sides in (
        np.eye(60, dtype=int),
        np.eye(60, dtype=bool),
        np.asfortranarray(np.eye(60)),
        np.eye(120)[::2, ::2],
    ):
        assert np.allclose(solve_diffusion(transitions, sides, 0.9, 1e-10, 500), exact, atol=1e-8)


def test_dense():
    transitions, sides = some_transitions(), some_sides(dtype=np.float32)
    found = solve_dense(transitions, sides, 0.99)
    assert found.dtype == np.float32
    assert np.allclose(found, resolvent(transitions, 0.99) @ sides, atol=1e-4)


def test_columns_per_block():
    assert columns_per_block(1000) == 256
    assert columns_per_block(0) == 256
    assert columns_per_block(10**9) == 1
    assert columns_per_block(1_000_000, budget_bytes=5 * 4 * 1_000_000 * 17) == 17
    assert columns_per_block(10, most=8) == 8
