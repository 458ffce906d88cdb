"""What networks read: vectors as directions in a bounded number of dimensions, in an order of their own."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from foldwalk.core.principal import principal
from foldwalk.core.seeds import generator
from foldwalk.core.types import AnyArray, Float32Array, Float64Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.rerank.kept import Kept

BLOCK = 4096


def canonical_order(vectors: Vectors) -> IntArray:
    """An order by the items' contents alone, so that the order of the gallery does not matter.

    Vectors that were brought to a scale differ in their last bits from unit to unit, and their digests would
    in everything: those are ordered along a random line, and then mixed.
    """
    if vectors.scale != 1:
        rng = generator(0, "canonical order")
        line, starts = rng.normal(size=vectors.dim), range(0, len(vectors), BLOCK)
        places = np.concatenate([vectors.values[first : first + BLOCK] @ line for first in starts])
        return np.argsort(places, kind="stable")[rng.permutation(len(places))]
    digests = [hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in vectors.values]
    return np.argsort(np.array(digests), kind="stable")


@dataclass(frozen=True, eq=False)
class Lift:
    """Directions whose cosines tell what the Euclidean metric tells.

    Points are centred, scaled to mean square length one and lifted to the unit sphere of one dimension more
    by inverse stereographic projection: it keeps angles, so near points stay near, and no two points share
    a direction.
    """

    centre: Float64Array
    scale: Float64Array

    @classmethod
    def learn(cls, points: Float32Array) -> Lift:
        centre = points.mean(axis=0, dtype=np.float64)
        centred = points - centre
        return cls(centre, np.array(max(np.sqrt(np.einsum("ij,ij->i", centred, centred).mean()), 1e-30)))

    @classmethod
    def restore(cls, kept: Kept, dim: int) -> Lift:
        scale = kept.numbers("scale", low=1e-30, dtype=np.float64)
        return cls(kept.numbers("centre", dim, dtype=np.float64), scale)

    def place(self, points: Float32Array) -> Float32Array:
        centred = (points - self.centre) / self.scale
        square = np.einsum("ij,ij->i", centred, centred)[:, None]
        return np.asarray(np.hstack([2 * centred, square - 1]) / (square + 1), np.float32)


@dataclass(frozen=True, eq=False)
class Space:
    """Directions along the principal axes of a gallery: without loss where the axes are as many as its rank.

    Axes are taken without centring, so that dot products are kept as well as they can be.
    """

    lift: Lift | None
    axes: Float32Array

    @classmethod
    def learn(cls, vectors: Vectors, metric: str, dimensions: int) -> Space:
        """The axes do not depend on the order of the items."""
        values = vectors.values[canonical_order(vectors)]
        lift = None if metric == "cosine" else Lift.learn(values)
        wide = (values if lift is None else lift.place(values)).astype(np.float64)
        n, dim = wide.shape
        if dim <= n:
            squares, axes = principal(wide.T @ wide)
        else:
            squares, rows = principal(wide @ wide.T)
            axes = wide.T @ (rows / np.sqrt(np.maximum(squares, 1e-30)))
        kept = np.flatnonzero(squares > squares[0] * 1e-10)[:dimensions]
        # One axis at least, even where all is zero.
        return cls(lift, np.ascontiguousarray(axes[:, kept if len(kept) else [0]], np.float32))

    def place(self, values: Float32Array) -> Float32Array:
        """Directions of vectors as the metric sees them; what has none stays zero."""
        return Vectors((values if self.lift is None else self.lift.place(values)) @ self.axes).unit().values

    def state(self) -> dict[str, AnyArray]:
        lifted = {} if self.lift is None else {"centre": self.lift.centre, "scale": self.lift.scale}
        return {"axes": self.axes, **lifted}

    @classmethod
    def restore(cls, kept: Kept, dim: int, metric: str) -> Space:
        lift = None if metric == "cosine" else Lift.restore(kept, dim)
        return cls(lift, kept.numbers("axes", dim + (lift is not None), None))
