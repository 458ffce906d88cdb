"""The affinity of the random-walk methods: a Gaussian as wide as the neighbourhoods of both items."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import Float32Array, Float64Array
from foldwalk.graph import as_rows, reach


def reach_of(found: Neighbors, k: int) -> Float64Array:
    """Each item's distance to the last of its k nearest, itself counted."""
    return reach(found.first(min(k - 1, found.k)))


def local_gaussian(found: Neighbors, k: int, reach_of_items: Float64Array) -> Float32Array:
    """exp(-d^2 / (r_i r_j)) to every neighbour that was found, r the reach within k; 0 where none was."""
    squared = found.squared_distances().astype(np.float64)
    widths = np.maximum(reach_of(found, k)[:, None] * reach_of_items[found.ids], 1e-30)
    # Duplicates have no width and no distance: such edges weigh 1.
    exponent = np.where(squared == 0, 0, -np.minimum(squared / widths, 80))
    return np.where(found.ids >= 0, np.exp(exponent), 0).astype(np.float32)


def gaussian_rows(found: Neighbors, k: int, reach_of_items: Float64Array, itself: bool) -> sparse.csr_array:
    """The same as sparse rows; where the rows are the items themselves, with 1 to the item itself."""
    items = len(reach_of_items)
    rows = as_rows(found, local_gaussian(found, k, reach_of_items), items)
    return (
        sparse.csr_array(rows + sparse.eye_array(items, format="csr", dtype=np.float32)) if itself else rows
    )
