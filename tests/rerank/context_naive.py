"""What the naive forms of the contextual methods share, and how a ranking is held against them."""

from __future__ import annotations

import numpy as np
from reference import load_reference, overlap

from foldwalk import rerank
from samples import clustered

GALLERY, LABELS = clustered(n=70, d=10)
QUERIES, _ = clustered(n=7, d=10, seed=4)
# Queries of the gallery's own kind; the others come from clusters of their own.
RELATED = (GALLERY[::7] + 0.08 * np.random.default_rng(2).normal(size=(10, 10))).astype(np.float32)
EVERYONE = np.concatenate([GALLERY, QUERIES])


def rank_lists(x):
    """For each item all items, itself first, then by similarity, ties by id."""
    similarity = x.astype(np.float64) @ x.T.astype(np.float64)
    n = len(x)
    return np.array([sorted(range(n), key=lambda j, i=i: (j != i, -similarity[i, j], j)) for i in range(n)])


def normalised_lists(x, depth, combine="sum"):
    """Lists of `depth` places, ordered by ranks both ways; ties keep the order they had."""
    return reorder([list(row[:depth]) for row in rank_lists(x)], depth, combine)


def reorder(lists, depth, combine):
    place = [{int(j): p for p, j in enumerate(row)} for row in lists]

    def value(i, j):
        own = depth - place[i][j]
        other = depth - place[j][i] if i in place[j] else 0
        if combine == "sum":
            return own + other
        return min(own, other) if other else own

    return [[i, *sorted(row[1:], key=lambda j, i=i: -value(i, j))] for i, row in enumerate(lists)]


def agrees(ranking, row, scores, tolerance=1e-5):
    """The reached part of a ranking has these dense scores, and leaves no positive one out."""
    reached = ranking.scores[row] > 0
    ids = ranking.ids[row][reached]
    scale = max(float(scores.max()), 1e-12)
    assert np.allclose(ranking.scores[row][reached] / scale, scores[ids] / scale, atol=tolerance)
    left = np.setdiff1d(np.arange(len(scores)), ids)
    assert (scores[left] <= tolerance * scale).all()


def follows_lists(ranking, row, before, similarity):
    """Behind what was reached stand the others of a list in its order, then the rest by plain similarity."""
    ids, scores = ranking.ids[row].tolist(), ranking.scores[row]
    reached, listed = int((scores > 0).sum()), int((scores > -1).sum())
    expected = [j for j in before if j < len(similarity) and j not in ids[:reached]]
    assert expected, "nothing is left to follow"
    assert ids[reached:listed] == expected
    rest = similarity[ids[listed:]]
    assert (rest[:-1] >= rest[1:]).all()
    assert np.allclose(scores[listed:], rest - 3, atol=1e-6)


def as_if_joined(method, queries, depth):
    """The share of the first answers to unseen queries that each would also get if it alone joined."""
    unseen = method.fit(GALLERY).rank(queries, top=depth).ids
    joined = [method.rerank(queries[q : q + 1], GALLERY, top=depth).ids for q in range(len(queries))]
    return np.mean([len(np.intersect1d(a, b)) / depth for a, b in zip(unseen, joined, strict=True)])


def check_reference(name, theirs, figures, place, reference_root, data_root, least=0.98, **parameters):
    """Overlap of the first fifty with the authors' program, and mAP within .3 of its figure."""
    sets = ("syn1000", "orl", "grocery")
    reference = load_reference(sets[place], reference_root, data_root)
    method = rerank.create(name, **parameters)
    ours = method.rerank(reference.queries, reference.gallery, top=len(reference.gallery))
    assert overlap(ours, reference.answers[theirs]) >= least
    return reference.mean_average_precision(ours) - figures[place]
