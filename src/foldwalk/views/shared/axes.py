"""The principal axes of a collection, as far as it tells them from noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foldwalk.core.principal import principal
from foldwalk.core.types import Float32Array

# Eigenvalues below this share of the largest are rounding, not directions.
SMALLEST = 1e-7


@dataclass(frozen=True, eq=False)
class Axes:
    """Mean (d,), axes (d, r), singular values (r,) of the centred collection, the largest first."""

    mean: Float32Array
    axes: Float32Array
    singular: Float32Array

    @classmethod
    def of(cls, values: Float32Array) -> Axes:
        """By the covariance or, of fewer items than dimensions, by their products."""
        if not len(values):
            values = np.zeros((1, values.shape[1]), np.float32)
        mean = values.mean(axis=0, dtype=np.float64)
        centred = values - mean
        few = len(centred) < centred.shape[1]
        eigenvalues, vectors = principal(centred @ centred.T if few else centred.T @ centred)
        # Of equal vectors, too, one axis stays: vectors without numbers would be none.
        rank = max(1, np.count_nonzero(eigenvalues > SMALLEST * eigenvalues[0]))
        kept = slice(0, rank)
        singular = np.sqrt(np.where(eigenvalues[0] > 0, eigenvalues[kept], 1))
        axes = (centred.T @ vectors[:, kept]) / singular if few else vectors[:, kept]
        return cls(*(np.ascontiguousarray(part, np.float32) for part in (mean, axes, singular)))

    def coordinates(self, values: Float32Array, power: float) -> Float32Array:
        """Along the axes, each over its singular value to this power; zero rows stay zero."""
        scaled = (values - self.mean) @ (self.axes * self.singular**-power)
        scaled[~np.any(values, axis=1)] = 0
        return np.asarray(scaled, np.float32)
