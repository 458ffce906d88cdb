"""From the similarity of two neighbours to the weight of their edge."""

from __future__ import annotations

from typing import Literal

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import Float32Array, Float64Array

Scale = Literal["fixed", "local", "median"]


def cosine_power(neighbors: Neighbors, gamma: float = 3.0) -> Float32Array:
    """max(s, 0)^gamma (Iscen et al. 2017)."""
    return np.asarray(np.maximum(neighbors.similarities, 0) ** np.float32(gamma), dtype=np.float32)


def reach(neighbors: Neighbors) -> Float64Array:
    """Each item's distance to the last of its neighbours."""
    squared = neighbors.squared_distances().astype(np.float64)
    return np.asarray(np.sqrt(np.where(np.isfinite(squared), squared, 0).max(axis=1, initial=0)))


def gaussian(
    neighbors: Neighbors,
    scale: Scale = "local",
    sigma: float = 1.0,
    reach_of_items: Float64Array | None = None,
) -> Float32Array:
    """exp(-d^2 / sigma^2), with sigma fixed, local, or sigma^2 the median of d^2 over all edges.

    Local (Zelnik-Manor and Perona 2004): sigma^2 = sigma_i sigma_j, each item's distance to its last
    neighbour, so that sparse and dense regions are bound alike. `reach_of_items` holds those distances
    where the rows are queries and their neighbours come from another set.
    """
    squared = neighbors.squared_distances().astype(np.float64)
    known = np.isfinite(squared)
    if scale == "fixed":
        widths: Float64Array = np.full((1, 1), sigma**2)
    elif scale == "median":
        widths = np.full((1, 1), np.median(squared[known]) if known.any() else 1.0)
    elif scale == "local":
        own = reach(neighbors)
        widths = own[:, None] * (own if reach_of_items is None else reach_of_items)[neighbors.ids]
    else:
        raise BadInput(f"scale must be fixed, local or median, but it is {scale!r}.")
    # Where all neighbours are duplicates the width is 0 and so is the distance: such edges weigh 1.
    exponent = np.where(squared == 0, 0, -squared / np.maximum(widths, 1e-30))
    return np.where(known, np.exp(np.maximum(exponent, -80)), 0).astype(np.float32)


def inverse_distance(neighbors: Neighbors) -> Float32Array:
    """1 / (1 + d), d the Euclidean distance (GRAD-Net, section 3.8)."""
    return (1 / (1 + np.sqrt(neighbors.squared_distances()))).astype(np.float32)


def relative_exponential(neighbors: Neighbors, row_maximum: Float32Array, sigma: float = 0.3) -> Float32Array:
    """exp(-d^2 / (sigma^2 m_i)), m_i the largest squared distance in row i (CAS, eq. 2).

    `row_maximum` holds m for each item, or one number for all.
    """
    relative = neighbors.squared_distances() / np.maximum(row_maximum, np.float32(1e-12)).reshape(-1, 1)
    return np.exp(-relative / np.float32(sigma**2)).astype(np.float32)
