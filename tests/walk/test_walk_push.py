"""Local pushing against the dense resolvent: an underestimate that closes in as the threshold falls."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from walk_naive import check_rows, cut_rows, resolvent, some_rows, some_transitions

from foldwalk.core import BadInput
from foldwalk.walk import push_diffusion


@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.parametrize("alpha", [0.5, 0.9, 0.99])
def test_the_error_is_what_the_residuals_would_still_have_brought(alpha, parts):
    transitions, starts = some_transitions(parts=parts), some_rows(150, 60, 0.05, seed=3)
    kernel = resolvent(transitions, alpha)
    exact = starts.toarray() @ kernel
    errors = []
    for threshold in (1e-1, 1e-2, 1e-3, 1e-5, 1e-7):
        found = check_rows(push_diffusion(transitions, starts, alpha, threshold))
        missing = exact - found
        assert missing.min() > -1e-4 * exact.max()
        # Each item keeps a residual of at most the threshold.
        assert missing.max() <= threshold * kernel.sum(axis=0).max() + 1e-5 * exact.max()
        errors.append(missing.max())
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-4 * exact.max() < errors[0]


def test_a_start_below_the_threshold_stays_where_it_is_and_does_not_count():
    transitions = some_transitions()
    starts = sparse.csr_array(np.eye(60, dtype=np.float32)[:2] * np.float32([[1], [1e-3]]))
    found = push_diffusion(transitions, starts, 0.9, threshold=1e-2)
    assert found.indptr.tolist()[0] == 0
    assert found.indptr.tolist()[1] > 0
    assert found.indptr.tolist()[2] == found.indptr.tolist()[1]


def test_by_hand():
    """Two items joined by one edge: with mass 1 at the first, 1 / (1 - alpha^2) and alpha / (1 - alpha^2)."""
    pair = sparse.csr_array(np.float32([[0, 1], [1, 0]]))
    found = push_diffusion(pair, sparse.csr_array(np.float32([[1, 0]])), 0.5, threshold=1e-7)
    assert np.allclose(found.toarray(), [[4 / 3, 2 / 3]], atol=1e-6)
    # Pushed once: the second's residual of a half is not above the threshold.
    assert push_diffusion(pair, sparse.csr_array(np.float32([[1, 0]])), 0.5, 0.5).toarray().tolist() == [
        [1, 0]
    ]


def test_cap():
    transitions, starts = some_transitions(), some_rows(30, 60, 0.05, seed=3)
    whole = push_diffusion(transitions, starts, 0.9).toarray()
    found = check_rows(push_diffusion(transitions, starts, 0.9, cap=5), cap=5)
    assert np.array_equal(found, cut_rows(whole, 5))


def test_empty_starts_stored_zeros_and_isolated_items():
    transitions = some_transitions()
    assert push_diffusion(transitions, sparse.csr_array((3, 60), dtype=np.float32), 0.9).nnz == 0
    zero = sparse.csr_array((np.float32([0, 2]), np.array([0, 30]), np.array([0, 2])), shape=(1, 60))
    found = push_diffusion(transitions, zero, 0.9)
    assert found.indices.tolist() == [30]  # the isolated item keeps all it has
    assert found.data.tolist() == [2]


def test_alpha_zero_goes_nowhere():
    transitions, starts = some_transitions(), some_rows(30, 60, 0.05, seed=3)
    found = push_diffusion(transitions, starts, 0.0, threshold=1e-9)
    assert np.array_equal(found.toarray(), starts.toarray())


@pytest.mark.parametrize("threshold", [0.0, -1.0, float("nan")])
def test_refuses_to_push_for_ever(threshold):
    with pytest.raises(BadInput, match="threshold must be above 0"):
        push_diffusion(some_transitions(), some_rows(2, 60), 0.9, threshold)
