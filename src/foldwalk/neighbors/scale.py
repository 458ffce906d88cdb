"""The scale of Euclidean vectors: their typical distance, so that no answer depends on their unit.

A similarity of 1 / (1 + d) tells little where all distances are tiny or huge. Vectors are divided by

    scale  =  median over the items of their distance to the coordinate-wise median of all,

which outliers do not move, nor the order of the items. Where more than half of the items are copies it is the
mean of the distances that are not zero; where all are, the length of the items.
"""

from __future__ import annotations

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.types import Float64Array
from foldwalk.core.vectors import Vectors

# Beyond so many items some 2,000 at even distances tell the scale.
ALL_UP_TO, SAMPLE = 20_000, 2_000
AT_A_TIME = 2**22  # numbers that are turned into float64
# Length up to which the square of the distance of two vectors stays within float32.
LONGEST = 4e18


def own_scale(vectors: Vectors, metric: str) -> float:
    """What the distances of these vectors are measured by; 1 for the cosine, which has no unit."""
    if metric == "cosine" or not vectors.values.size:
        return 1.0
    n = len(vectors)
    some = vectors.values if n <= ALL_UP_TO else vectors.values[:: n // SAMPLE]
    columns = max(1, AT_A_TIME // len(some))
    squared = np.zeros(len(some))
    squared_length = 0.0
    for first in range(0, vectors.dim, columns):
        part = some[:, first : first + columns].T.astype(np.float64)  # one coordinate after the other
        centre = np.median(part, axis=1, keepdims=True)
        squared_length += float((centre**2).sum())
        part -= centre
        squared += np.einsum("ij,ij->j", part, part)
    return _typical(np.sqrt(squared)) or squared_length**0.5 or 1.0


def in_scale(vectors: Vectors, scale: float) -> Vectors:
    """The same vectors with `scale` for 1; those that are in it already are not copied."""
    if vectors.scale == scale:
        return vectors
    out = np.empty_like(vectors.values)
    rows = max(1, AT_A_TIME // vectors.dim)
    for first in range(0, len(vectors), rows):
        # In float64, in which neither the scale nor its inverse is out of range.
        part = vectors.values[first : first + rows].astype(np.float64)
        out[first : first + rows] = part / (scale / vectors.scale)
    return Vectors(out, scale)


def smallest_scale(vectors: Vectors) -> float:
    """Below this float32 cannot square the distances of these vectors."""
    return float(_largest(vectors) * vectors.dim**0.5 / LONGEST)


def scale_for_all(vectors: Vectors, metric: str) -> float:
    """Their own scale, or a larger one where some are so far away that it needs to be: none is refused."""
    own = own_scale(vectors, metric)
    return own if metric == "cosine" or not len(vectors) else max(own, smallest_scale(vectors))


def refuse_too_far(vectors: Vectors, scale: float) -> None:
    """Numbers whose distances, in this scale, float32 cannot square."""
    if smallest_scale(vectors) > scale:
        largest = _largest(vectors)
        beside = "" if scale == 1 else f" where {scale:.3g} is a typical distance"
        raise BadInput(
            f"numbers as large as {largest:.3g} are beyond Euclidean distances in float32{beside}; "
            f"scale the vectors down, leave out such rows, or choose the cosine metric."
        )


def _largest(vectors: Vectors) -> float:
    return float(max(vectors.values.max(), -vectors.values.min())) * vectors.scale


def _typical(distances: Float64Array) -> float:
    """Their median, or the mean of those above zero where half of them are zero."""
    above = distances[distances > 0]
    return float(np.median(distances)) or (float(np.sort(above).mean()) if len(above) else 0.0)
