"""A graph in small balls of items that hang together."""

from __future__ import annotations

import numpy as np
from numba import njit

from foldwalk.core.types import AnyArray, IntArray


@njit(cache=True)
def breadth_first_balls(indptr: IntArray, indices: IntArray, centres: IntArray, size: int) -> AnyArray:
    """All centres, ball after ball: each ball grows breadth first from the next centre not yet in one."""
    order = np.empty_like(centres)
    taken = np.zeros(indptr.shape[0] - 1, np.bool_)
    filled = 0
    for centre in centres:
        if taken[centre]:
            continue
        first, head = filled, filled
        taken[centre] = True
        order[filled] = centre
        filled += 1
        while head < filled and filled - first < size:
            item = order[head]
            head += 1
            for edge in range(indptr[item], indptr[item + 1]):
                other = indices[edge]
                if not taken[other] and filled - first < size:
                    taken[other] = True
                    order[filled] = other
                    filled += 1
    return order
