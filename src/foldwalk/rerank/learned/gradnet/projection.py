"""Learned features in fewer dimensions: the directions in which the collection's features extend the most.

They are the first right singular vectors of the features, without centring, so that cosines are kept as well
as they can be. Learned from the D x D products, summed over blocks of rows: no second copy of the features.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from foldwalk.core.principal import principal
from foldwalk.core.types import BoolArray, Float32Array, Float64Array, IntArray
from foldwalk.core.vectors import Vectors

ROWS = 4096  # of a block
Everything = TypeVar("Everything", Float32Array, IntArray, BoolArray)


@dataclass(frozen=True, eq=False)
class Projection:
    """`axes` (D, dimensions); fewer where the features do not extend in as many."""

    axes: Float32Array

    @classmethod
    def learn(cls, blocks: Iterable[Float32Array], dimensions: int) -> Projection:
        """From all features, in blocks of rows (any number of rows, D)."""
        gram = sum(block.T.astype(np.float64) @ block for block in blocks)
        squares, axes = _first(np.asarray(gram), dimensions)
        kept = max(1, int((squares[:dimensions] > squares[0] * 1e-10).sum()))
        axes = axes[:, :kept]
        # Eigenvectors come with either sign.
        signs = np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(kept)])
        return cls(np.ascontiguousarray(axes * signs, np.float32))

    def place(self, features: Float32Array) -> Float32Array:
        """The features in the kept dimensions, scaled to length one again."""
        return Vectors(np.ascontiguousarray(features @ self.axes)).unit().values


def _first(gram: Float64Array, dimensions: int) -> tuple[Float64Array, Float64Array]:
    """The first eigenvalues and eigenvectors, of large products by random projection, quicker."""
    if len(gram) <= 1024 or dimensions > len(gram) // 4:
        return principal(gram)
    from sklearn.utils.extmath import randomized_svd  # takes its time: only when needed

    axes, squares, _ = randomized_svd(gram, dimensions, random_state=0)
    return np.asarray(squares), np.asarray(axes)


def blocks_of(everything: Everything, rows: int = ROWS) -> Iterable[Everything]:
    return (everything[start : start + rows] for start in range(0, len(everything), rows))
