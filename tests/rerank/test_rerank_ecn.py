"""Expanded cross neighbourhoods beside a dense form written from the paper's equations."""

from __future__ import annotations

import numpy as np
import pytest
from context_naive import EVERYONE, GALLERY, LABELS, QUERIES, agrees, check_reference, rank_lists

from foldwalk import rerank


def list_similarity(lists, k):
    n = len(lists)
    weight = np.zeros((n, n))
    for i in range(n):
        for place in range(k):
            weight[i, lists[i, place]] = k - place
    return weight @ weight.T


def dense_ecn(x, k, t, q):
    """Similarities of rank lists in place of distances."""
    lists = rank_lists(x)
    similarity = list_similarity(lists, k)
    n = len(x)
    toward = np.zeros((n, n))
    for p in range(n):
        expanded = [int(j) for j in lists[p, 1 : t + 1]]
        for j in lists[p, 1 : t + 1]:
            expanded += [int(m) for m in lists[j, 1 : q + 1]]
        assert len(expanded) == t + t * q
        toward[p] = np.mean([similarity[m] for m in expanded], axis=0)
    return (toward + toward.T) / 2 / similarity[0, 0]


@pytest.mark.parametrize(("k", "t", "q"), [(25, 3, 8), (6, 1, 2), (5, 4, 9)])
def test_transductive_against_the_dense_form(k, t, q):
    dense = dense_ecn(EVERYONE, k, t, q)
    ours = rerank.create("ecn", k=k, t=t, q=q).rerank(QUERIES, GALLERY, top=70)
    for row in range(len(QUERIES)):
        agrees(ours, row, dense[70 + row, :70])


def test_own_rows_against_the_dense_form():
    dense = dense_ecn(GALLERY, 12, 2, 5)
    np.fill_diagonal(dense, 0)
    ours = rerank.create("ecn", k=12, t=2, q=5).fit(GALLERY).rank_self(top=69)
    for i in range(70):
        agrees(ours, i, dense[i])


def test_an_unseen_query_stands_in_nobody_elses_list():
    """With the gallery's own lists fixed, its score is worked out by hand."""
    k, t, q = 6, 2, 3
    lists = rank_lists(GALLERY)
    ours = rerank.create("ecn", k=k, t=t, q=q).fit(GALLERY).rank(QUERIES, top=70)
    weight = np.zeros((70, 70))
    for i in range(70):
        weight[i, lists[i, :k]] = k - np.arange(k)

    def surroundings(nearest):
        return list(nearest[:t]) + [m for j in nearest[:t] for m in lists[j, 1 : q + 1]]

    for row, query in enumerate(QUERIES):
        nearest = np.argsort(-(GALLERY.astype(np.float64) @ query), kind="stable")
        own = np.zeros(70)
        own[nearest[: k - 1]] = k - 1 - np.arange(k - 1)
        there = weight[surroundings(nearest)].mean(axis=0) @ weight.T
        back = np.array([weight[surroundings(lists[g, 1:])].mean(axis=0) @ own for g in range(70)])
        agrees(ours, row, (there + back) / 2 / (weight[0] @ weight[0]))


def test_the_clusters_come_first():
    ranking = rerank.create("ecn", k=10).fit(GALLERY).rank_self(top=8)
    assert (LABELS[ranking.ids] == LABELS[:, None]).mean() > 0.95


@pytest.mark.parametrize("place", range(3), ids=["syn1000", "orl", "grocery"])
def test_agrees_with_the_authors_program(place, reference_root, data_root):
    figures = (70.23, 89.74, 65.58)
    difference = check_reference("ecn", "ecn", figures, place, reference_root, data_root)
    assert abs(difference) <= 0.3
