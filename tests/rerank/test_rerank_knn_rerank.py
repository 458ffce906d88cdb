"""k-NN re-ranking beside a loop written from its definition."""

from __future__ import annotations

import numpy as np
import pytest
from context_naive import GALLERY, LABELS, QUERIES, agrees, rank_lists

from foldwalk import rerank

PLACES = np.argsort(rank_lists(GALLERY), axis=1) + 1


def naive_scores(own_order, k, rounds):
    """`own_order`: the gallery as the query sees it. Places of everything, over whole lists."""
    own_place = {int(d): place for place, d in enumerate(own_order, 1)}
    nearest = [int(d) for d in own_order[:k]]
    for _ in range(rounds):
        scores = np.zeros(len(GALLERY))
        for d, place in own_place.items():
            scores[d] = 1 / place + sum(1 / (i + 1) / PLACES[m, d] for i, m in enumerate(nearest, 1))
        nearest = sorted(own_place, key=lambda d: (-scores[d], d))[:k]
    return scores


@pytest.mark.parametrize(("k", "rounds"), [(10, 2), (3, 1), (4, 3), (1, 1)])
def test_unseen_queries_against_the_loop(k, rounds):
    ours = rerank.create("knn_rerank", k=k, rounds=rounds, dense=True).fit(GALLERY).rank(QUERIES, top=70)
    for row, query in enumerate(QUERIES):
        order = np.argsort(-(GALLERY.astype(np.float64) @ query), kind="stable")
        agrees(ours, row, naive_scores(order, k, rounds))


def test_own_rows_against_the_loop():
    ours = rerank.create("knn_rerank", k=5, rounds=2, dense=True).fit(GALLERY).rank_self(top=69)
    lists = rank_lists(GALLERY)
    for i in range(70):
        agrees(ours, i, naive_scores(lists[i, 1:], 5, 2))


def test_short_lists_lose_only_what_stands_behind_them():
    """With one round, an item's score falls short of the full one by what the cut places are worth."""
    depth, k = 12, 3
    ours = rerank.create("knn_rerank", k=k, rounds=1, depth=depth).fit(GALLERY).rank(QUERIES, top=70)
    for row, query in enumerate(QUERIES):
        order = np.argsort(-(GALLERY.astype(np.float64) @ query), kind="stable")
        place = np.argsort(order) + 1
        cut = np.where(place <= depth, 1 / place, 0)
        for i, m in enumerate(order[:k], 1):
            cut += np.where(PLACES[m] <= depth, 1 / (i + 1) / PLACES[m], 0)
        agrees(ours, row, cut)


def test_the_query_joins_nothing():
    method = rerank.create("knn_rerank", k=4)
    joined = method.rerank(QUERIES, GALLERY, top=70)
    assert (joined.ids == method.fit(GALLERY).rank(QUERIES, top=70).ids).all()


def test_the_clusters_come_first():
    ranking = rerank.create("knn_rerank", k=5).fit(GALLERY).rank_self(top=8)
    assert (LABELS[ranking.ids] == LABELS[:, None]).mean() > 0.95
