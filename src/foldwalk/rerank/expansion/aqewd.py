"""Average query expansion with decay: nearest items are averaged with weights that fall with their rank.

A. Gordo, J. Almazan, J. Revaud and D. Larlus, "End-to-end learning of deep visual representations for image
retrieval", IJCV 2017. With x_1 ... x_k the nearest of query q, which itself has rank 0:

    q' = q + sum over i of (1 - i / (k + 1)) x_i,   scaled to length one, then a second plain search.

In the general form of query expansion (A. Gordo et al., ECCV 2020, eq. 1, see `lattqe.py`) the weight is
(n - i) / n with the query counted among n, so n = k + 1. The paper takes some ten items of large classes for
queries and more for the gallery. `dba=True` (ADBAwD) as in `aqe.py`: the item itself and its `dba_k` - 1
nearest, with the same decay.
"""

from __future__ import annotations

import numpy as np

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import Float32Array
from foldwalk.rerank.expansion.shared.base import Expansion, ExpansionParams
from foldwalk.rerank.params import neighborhood
from foldwalk.rerank.registry import register


class AQEwDParams(ExpansionParams):
    k: int = neighborhood(10, "nearest items that are averaged with the query")


@register
class AQEwD(Expansion):
    name = "aqewd"
    family = "expansion"
    paper = "Gordo et al., End-to-end learning of deep visual representations for image retrieval, IJCV 2017"
    summary = "average query expansion with weights that fall with the rank"
    Parameters = AQEwDParams

    def _weights(self, neighbors: Neighbors) -> Float32Array:
        decay = 1 - np.arange(1, neighbors.k + 1) / (neighbors.k + 1)
        return ((neighbors.ids >= 0) * decay).astype(np.float32)
