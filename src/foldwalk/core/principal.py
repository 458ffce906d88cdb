"""Principal axes, by the eigenvectors of a symmetric matrix."""

from __future__ import annotations

import numpy as np

from foldwalk.core.types import Float64Array


def principal(symmetric: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Eigenvalues of a covariance or of dot products, the largest first, none below zero; axes as columns."""
    values, axes = np.linalg.eigh(symmetric)
    return np.maximum(values[::-1], 0), axes[:, ::-1]
