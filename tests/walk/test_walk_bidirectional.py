"""Diffusion from both sides on cut rows, against the dense iteration cut in the same way."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from walk_naive import cut_rows, resolvent, some_rows, some_transitions

from foldwalk.walk.bidirectional import two_sided_steps


def naive_steps(transitions, start, alpha, steps, cap) -> np.ndarray:
    s, f = transitions.toarray().astype(np.float64), cut_rows(start.toarray().astype(np.float64), cap)
    for _ in range(steps):
        f = cut_rows(alpha / 2 * (f @ s + s @ f) + (1 - alpha) * np.eye(len(s)), cap)
    return f


@pytest.mark.parametrize("steps", [0, 1, 4])
@pytest.mark.parametrize("cap", [1, 5, 20, 500])
def test_against_the_dense_iteration(steps, cap):
    transitions, start = some_transitions(140, parts=2), some_rows(140, 140, 0.1, seed=2)
    found = two_sided_steps(transitions, start, 0.8, steps, cap)
    assert found.shape == (140, 140)
    assert (np.diff(found.indptr) <= cap).all()
    assert np.allclose(found.toarray(), naive_steps(transitions, start, 0.8, steps, cap), atol=1e-5)


def test_the_start_keeps_its_largest_entries_even_behind_many_equal_ones():
    start = sparse.csr_array(np.float32([[1, 1, 5, 0], [2, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]]))
    nowhere = sparse.csr_array((4, 4), dtype=np.float32)
    found = two_sided_steps(nowhere, start, 0.8, steps=0, cap=2).toarray()
    assert found.tolist() == [[1, 0, 5, 0], [2, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]]


def test_it_ends_at_the_resolvent():
    transitions = some_transitions()
    found = two_sided_steps(transitions, transitions, 0.8, steps=100, cap=60).toarray()
    assert np.allclose(found, 0.2 * resolvent(transitions, 0.8), atol=1e-5)


def test_items_without_an_edge_keep_what_restarts_there():
    identity = sparse.csr_array(np.eye(60, dtype=np.float32))
    found = two_sided_steps(some_transitions(), identity, 0.75, steps=3, cap=60).toarray()
    assert found[30, 30] == 0.25
    assert np.count_nonzero(found[30]) == 1
