"""What the network reads of each vector: its direction and its codes Z (eq. 9), side by side (eq. 10).

Learned once from the collection and kept, so that vectors that come later are placed as the others were.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.principal import principal
from foldwalk.core.seeds import generator
from foldwalk.core.types import AnyArray, BoolArray, Float32Array, Float64Array
from foldwalk.core.vectors import Vectors
from foldwalk.graph import anchor_graph, local_anchor_embedding
from foldwalk.rerank.kept import Kept
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams
from foldwalk.rerank.learned.shared.space import Lift

# Centres of few items remember these: every other codebook has as many items a centre at least, so that a
# vector that comes later finds codes like its neighbours'.
ITEMS_A_CENTRE = 10


@dataclass(frozen=True, eq=False)
class Inputs:
    """H0 = [X, Z]: the vectors, rotated if they have more dimensions than items, beside their codes.

    `rotation` (d, r) or None; `mean` (r,) is taken off, or `lift` raises points of a Euclidean space to a
    sphere; `centres` are the k-means centres of each codebook. None of them depends on the order of items.
    """

    metric: str
    rotation: Float32Array | None
    mean: Float64Array | None
    lift: Lift | None
    centres: list[Float32Array]
    nearest: int
    codes_only: bool

    @classmethod
    def learn(cls, vectors: Vectors, params: GradNetParams, seed: int) -> Inputs:
        # Rotated, the vectors have the same distances in fewer dimensions: there is less to do.
        rotation = rotation_of(vectors.values)
        values = vectors.values if rotation is None else rotated(vectors.values, rotation)
        lift = Lift.learn(values) if params.metric != "cosine" else None
        # Pixels and most features are positive and all point much the same way; what they share tells nothing
        # and drowns the rest in the first layer.
        mean = values.mean(axis=0, dtype=np.float64) if lift is None and params.centre else None
        centres = []
        # Each item is a mixture of `nearest_anchors` centres: where there are not as many items for each
        # centre, a code says no more than who the item is, and nothing of one that comes later.
        enough = len(vectors) >= params.anchors * params.nearest_anchors
        if (params.anchors and enough) or params.codes_only:
            # What one k-means finds depends on where it began.
            seeds = generator(seed, "gradnet anchors").integers(2**32, size=params.codebooks)
            most, same = max(params.anchors, 1), Vectors(values)
            counts = [most, max(1, min(most, len(vectors) // ITEMS_A_CENTRE))]
            centres = [
                anchor_graph(same, counts[book % 2], params.nearest_anchors, int(one)).anchors.values
                for book, one in enumerate(seeds)
            ]
        return cls(params.metric, rotation, mean, lift, centres, params.nearest_anchors, params.codes_only)

    def place(self, vectors: Vectors) -> Float32Array:
        """H0 of vectors as the metric sees them; zero where there is no direction."""
        values = vectors.values if self.rotation is None else rotated(vectors.values, self.rotation)
        parts = [] if self.codes_only else [self._directions(values)]
        if self.centres:
            same = Vectors(values)
            books = [codes(same, Vectors(centres), self.nearest) for centres in self.centres]
            # Side by side their lengths make up one code's.
            parts.append(np.hstack(books) / np.float32(np.sqrt(len(books))))
        features = np.hstack(parts)
        features[has_no_direction(vectors, self.metric)] = 0
        return features

    def _directions(self, values: Float32Array) -> Float32Array:
        """Vectors whose cosines tell what their metric tells."""
        if self.lift is not None:
            return self.lift.place(values)
        if self.mean is None:
            return values
        return Vectors(np.ascontiguousarray(values - self.mean, np.float32)).unit().values

    def state(self) -> dict[str, AnyArray]:
        arrays: dict[str, AnyArray] = {f"centres{i}": centres for i, centres in enumerate(self.centres)}
        if self.rotation is not None:
            arrays["rotation"] = self.rotation
        if self.mean is not None:
            arrays["mean"] = self.mean
        if self.lift is not None:
            arrays |= {"lift_centre": self.lift.centre, "lift_scale": self.lift.scale}
        return arrays

    @classmethod
    def restore(cls, kept: Kept, params: GradNetParams, dim: int) -> Inputs:
        names, cosine = kept.names(), params.metric == "cosine"
        rotation = kept.numbers("rotation", dim, None) if "rotation" in names else None
        inner = dim if rotation is None else rotation.shape[1]
        books = sum(name.startswith("centres") for name in names)
        if params.codes_only and not books:
            raise BadInput("inputs/centres0 is missing.")
        return cls(
            params.metric,
            rotation,
            kept.numbers("mean", inner, dtype=np.float64) if cosine and params.centre else None,
            None if cosine else Lift.restore(kept.under("lift_"), inner),
            [kept.numbers(f"centres{i}", None, inner) for i in range(books)],
            params.nearest_anchors,
            params.codes_only,
        )

    def width(self, dim: int) -> int:
        """How many numbers H0 has for a vector of `dim`."""
        inner = dim if self.rotation is None else self.rotation.shape[1]
        directions = 0 if self.codes_only else inner + (self.lift is not None)
        return directions + sum(len(centres) for centres in self.centres)


def codes(vectors: Vectors, centres: Vectors, nearest: int) -> Float32Array:
    """Z of eq. 9: each item as a mixture of its nearest k-means centres, rows sum to one."""
    return np.asarray(local_anchor_embedding(vectors, centres, nearest).toarray(), np.float32)


def has_no_direction(vectors: Vectors, metric: str) -> BoolArray:
    """Zero rows under the cosine: they find nothing and nobody finds them."""
    return vectors.zero_rows if metric == "cosine" else np.zeros(len(vectors), np.bool_)


def rotation_of(values: Float32Array) -> Float32Array | None:
    """The principal axes (d, r) of n rows of more than n dimensions: at most n, and nothing is lost."""
    n, dim = values.shape
    if dim <= n:
        return None
    wide = values.astype(np.float64)
    squares, rows = principal(wide @ wide.T)
    kept = squares > squares[0] * 1e-12
    kept[0] = True  # one dimension at least, even where all is zero
    rows = rows[:, kept] * np.sign(rows[np.abs(rows).argmax(axis=0), np.arange(n)])[kept]
    axes = wide.T @ (rows / np.sqrt(np.maximum(squares[kept], 1e-30)))
    return np.ascontiguousarray(axes, np.float32)


def rotated(values: Float32Array, rotation: Float32Array) -> Float32Array:
    return np.ascontiguousarray(values.astype(np.float64) @ rotation, np.float32)
