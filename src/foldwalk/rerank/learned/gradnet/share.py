"""How much of the features is the vector itself, H(0), beside what was learned.

Layers side by side (eq. 17) give H(0) one part of four, with three layers; it is never less. Two things speak
for more. An item counts twice as much as each of its k neighbours, so that one false neighbour cannot
outweigh it. And what was learned of few items is trusted little, because whether they come in groups larger
than their neighbourhoods cannot be seen; the pairs of items, of which the network learns, grow with their
square.
"""

from __future__ import annotations

import numpy as np

from foldwalk.core.types import Float32Array
from foldwalk.core.vectors import Vectors
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams

# Of so many items, the vector counts as much as all that was learned. Codes begin there as well.
FEW = 300


def own_share(params: GradNetParams, k: int, items: float) -> float:
    """The share of H(0) in the cosine of one round."""
    return max(_part(params), 2 / (2 + k), 1 / (1 + (items / FEW) ** 2))


def weighed(features: Float32Array, params: GradNetParams, share: float, rounds: int) -> Float32Array:
    """Features of some rounds side by side, as eq. 17 has them, with that share of H(0)."""
    part = _part(params)
    if not params.concatenate or share <= part:
        return features
    width = features.shape[1] // rounds
    scale = np.full(width, np.sqrt((1 - share) / (1 - part)), np.float32)
    scale[: width - sum(params.sizes)] = np.sqrt(share / part)
    return Vectors(features * np.tile(scale, rounds)).unit().values


def _part(params: GradNetParams) -> float:
    return 1 / (1 + len(params.sizes))
