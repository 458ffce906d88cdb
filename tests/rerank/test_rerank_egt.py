"""Explore-exploit traversal beside algorithm 1 written with lists, and its two limits."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk import rerank
from samples import clustered

GALLERY, LABELS = clustered(n=90, d=8)
QUERIES, _ = clustered(n=7, d=8, seed=2)


def nearest(similarity, k):
    """The k largest of each row, best first, ties to the smaller column."""
    return [sorted(range(len(row)), key=lambda i: (-row[i], i))[:k] for row in similarity]


def algorithm_1(similarity, first, k, p, threshold, skip=None):
    """`similarity` of the items, `first` of the query to them."""
    inner = similarity.copy()
    np.fill_diagonal(inner, -np.inf)
    edges = nearest(inner, k)
    queue, answer = {}, []

    def offer(weights, items):
        for item in items:
            if item not in answer and item != skip:
                queue[item] = max(queue.get(item, -np.inf), weights[item])

    own = first.copy()
    if skip is not None:
        own[skip] = -np.inf
    offer(own, nearest(own[None], k)[0])
    while queue and len(answer) < p:
        visited = []
        while True:
            item = min(queue, key=lambda i: (-queue[i], i))
            del queue[item]
            answer.append(item)
            visited.append(item)
            if not queue or max(queue.values()) <= threshold or len(answer) == p:
                break
        for item in visited:
            offer(inner[item], edges[item])
    return answer


@pytest.mark.parametrize(("k", "p", "t"), [(5, 60, 0.9), (3, 90, 0.5), (12, 40, 0.0), (4, 20, 1.0)])
def test_as_algorithm_1(k, p, t):
    similarity = GALLERY @ GALLERY.T
    fitted = rerank.create("egt", k=k, p=p, t=t, relative=False).fit(GALLERY)
    answers = fitted.rank(QUERIES, top=90).ids
    own = fitted.rank_self(top=89).ids
    for q, query in enumerate(QUERIES):
        expected = algorithm_1(similarity, GALLERY @ query, k, p, t)
        assert answers[q, : len(expected)].tolist() == expected
    for i in range(0, 90, 13):
        expected = algorithm_1(similarity, similarity[i], k, p, t, skip=i)
        assert own[i, : len(expected)].tolist() == expected


def test_a_threshold_below_everything_gives_plain_search_first():
    fitted = rerank.create("egt", k=30, t=-1, relative=False).fit(GALLERY)
    plain = rerank.create("plain").fit(GALLERY)
    assert (fitted.rank(QUERIES, top=30).ids == plain.rank(QUERIES, top=30).ids).all()


def test_a_threshold_above_everything_is_prims_tree():
    """By hand: a chain 0 - 1 - 2 - 3 and a stranger 4 that is nearer to the start than the chain's end."""
    angles = np.radians([0, 20, 42, 65, -50])
    gallery = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    answer = rerank.create("egt", k=4, t=1, relative=False).fit(gallery).rank_self(top=4)
    assert answer.ids[0].tolist() == [1, 2, 3, 4]
    assert rerank.create("plain").fit(gallery).rank_self(top=4).ids[0].tolist() == [1, 2, 4, 3]


def test_the_threshold_counts_from_the_mean_similarity():
    fitted = rerank.create("egt", t=0.5).fit(GALLERY)
    mean = (GALLERY @ GALLERY.T).mean()
    assert fitted.threshold == pytest.approx(mean + 0.5 * (1 - mean), abs=1e-5)
    euclidean = rerank.create("egt", t=0.5, metric="euclidean").fit(GALLERY)
    distances = np.linalg.norm(GALLERY[:, None].astype(np.float64) - GALLERY[None], axis=2)
    mean = (1 / (1 + distances / euclidean.vectors.scale)).mean()
    assert euclidean.threshold == pytest.approx(mean + 0.5 * (1 - mean), abs=1e-4)


def test_joined_queries_are_walked_through_but_not_answered():
    """The query of the middle joins the two halves of a chain."""
    angles = np.radians([0, 10, 60, 70])
    gallery = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    middle = np.array([[np.cos(np.radians(35)), np.sin(np.radians(35))]])
    answer = rerank.create("egt", k=2, t=1, relative=False).rerank(
        np.concatenate([gallery[:1], middle]), gallery, top=4
    )
    assert sorted(answer.ids[0].tolist()) == [0, 1, 2, 3]
    assert answer.ids[0, :2].tolist() == [0, 1]
