"""Principal axes of a matrix of known spectrum."""

from __future__ import annotations

import numpy as np

from foldwalk.core.principal import principal


def test_largest_first_and_none_below_zero():
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    values, axes = principal(turn @ np.diag([0.5, 3.0, -1e-12, 2.0]) @ turn.T)
    assert np.allclose(values, [3, 2, 0.5, 0], atol=1e-10)
    assert (values >= 0).all()
    assert np.allclose(np.abs(turn[:, [1, 3, 0, 2]].T @ axes), np.eye(4), atol=1e-10)
