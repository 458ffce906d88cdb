"""What the naive forms of the diffusion methods share, and how a ranking is held against them."""

from __future__ import annotations

import numpy as np

from samples import clustered

N = 80
GALLERY, LABELS = clustered(n=N, d=10)
QUERIES, _ = clustered(n=6, d=10, seed=4)
EVERYONE = np.concatenate([GALLERY, QUERIES])


def squared_distances(x, y):
    return ((x[:, None].astype(np.float64) - y[None]) ** 2).sum(axis=2)


def nearest(x, k):
    """For each item its k nearest others, ties by id."""
    squared = squared_distances(x, x)
    return [
        sorted((j for j in range(len(x)) if j != i), key=lambda j, i=i: (squared[i, j], j))[:k]
        for i in range(len(x))
    ]


def nearest_of(query, items, k):
    squared = squared_distances(query[None], items)[0]
    return sorted(range(len(items)), key=lambda j: (squared[j], j))[:k]


def row_normalised(matrix):
    sums = matrix.sum(axis=1, keepdims=True)
    return np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0)


def symmetric(affinity):
    sums = affinity.sum(axis=1)
    root = np.array([s**-0.5 if s > 0 else 0 for s in sums])
    return root[:, None] * affinity * root[None, :]


def agrees(ranking, row, scores, tolerance=1e-4):
    """The reached part of a ranking has these dense scores up to a factor, and leaves no larger one out."""
    reached = ranking.scores[row] > 0
    ids, ours = ranking.ids[row][reached], ranking.scores[row][reached]
    assert len(ids), "nothing was reached"
    scale = scores[ids].max()
    assert np.allclose(ours / ours.max(), scores[ids] / scale, atol=tolerance)
    left = np.setdiff1d(np.arange(len(scores)), ids)
    assert (scores[left] <= tolerance * scale).all()


def agrees_everywhere(ranking, dense, tolerance=1e-4):
    """Every row of a ranking of the gallery itself; an item is no answer to itself."""
    for i in range(len(dense)):
        scores = dense[i].copy()
        scores[i] = 0
        agrees(ranking, i, scores, tolerance)


def local_gaussian(x, k):
    """exp(-d^2 / (r_i r_j)) of all pairs, r the distance to the k-th nearest, itself counted; and r."""
    squared = squared_distances(x, x)
    width = np.array([np.sqrt(squared[i, near[-1]]) for i, near in enumerate(nearest(x, k - 1))])
    return np.exp(-squared / (width[:, None] * width)), width


def local_gaussian_of(query, items, width, k):
    """The same from a query to all items."""
    squared = squared_distances(query[None], items)[0]
    own = np.sqrt(squared[nearest_of(query, items, k - 1)[-1]])
    return np.exp(-squared / (own * width))


def only_nearest(affinity, x, k):
    """Each row cut to the k nearest, itself counted."""
    cut = np.zeros_like(affinity)
    for i, near in enumerate(nearest(x, k - 1)):
        cut[i, [i, *near]] = affinity[i, [i, *near]]
    return cut
