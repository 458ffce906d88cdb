"""k-reciprocal encoding in plain numpy with n x n arrays, written from the paper: a yardstick.

Z. Zhong, L. Zheng, D. Cao and S. Li, CVPR 2017, equations 3, 4, 7 and 10 to 12.
"""

from __future__ import annotations

import numpy as np

from foldwalk.core.types import AnyArray


def final_distances(everyone: AnyArray, queries: AnyArray, k1: int = 20, k2: int = 6) -> AnyArray:
    """(queries, n): .7 of the Jaccard distance and .3 of the squared distance over its row's largest."""
    x = everyone / np.linalg.norm(everyone, axis=1, keepdims=True)
    distance = np.maximum(2 - 2 * x @ x.T, 0).astype(np.float32)
    distance /= distance.max(axis=1, keepdims=True)
    nearest = np.argsort(distance, axis=1)
    encoding = np.zeros_like(distance)
    for i in range(len(x)):
        members = _mutual(nearest, i, k1)
        together = members
        for j in members:
            half = _mutual(nearest, j, round(k1 / 2))
            if len(np.intersect1d(half, members)) > 2 / 3 * len(half):
                together = np.append(together, half)
        together = np.unique(together)
        weights = np.exp(-distance[i, together])
        encoding[i, together] = weights / weights.sum()
    encoding = np.array([encoding[nearest[i, :k2]].mean(axis=0) for i in range(len(x))])
    final = np.empty((len(queries), len(x)), np.float32)
    for row, q in enumerate(queries):
        columns = np.flatnonzero(encoding[q])
        common = np.minimum(encoding[q, columns], encoding[:, columns]).sum(axis=1)
        final[row] = 0.7 * (1 - common / (2 - common)) + 0.3 * distance[q]
    return final


def _mutual(nearest: AnyArray, i: int, k: int) -> AnyArray:
    """R(i, k): those of the first k + 1 of i that have i among their first k + 1."""
    forward = nearest[i, : k + 1]
    return forward[(nearest[forward, : k + 1] == i).any(axis=1)]
