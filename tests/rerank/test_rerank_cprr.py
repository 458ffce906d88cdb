"""Cartesian products of ranking references beside a loop over lists, as the definition counts pairs."""

from __future__ import annotations

import numpy as np
import pytest
from context_naive import (
    EVERYONE,
    GALLERY,
    LABELS,
    QUERIES,
    RELATED,
    agrees,
    as_if_joined,
    check_reference,
    normalised_lists,
    rank_lists,
)

from foldwalk import rerank


def pair_counts(lists, k):
    """Every list adds to each pair of its head; so does each set of lists that name the same item."""
    n = len(lists)
    counts = np.zeros((n, n))
    named_by = [[] for _ in range(n)]
    for q, row in enumerate(lists):
        for a in range(k):
            if a:
                named_by[row[a]].append((q, k - a))
            for b in range(k):
                counts[row[a], row[b]] += (k - a) * (k - b)
    for lists_naming in named_by:
        for x, a in lists_naming:
            for y, b in lists_naming:
                counts[x, y] += a * b
    return counts


def dense_cprr(x, k, rounds, depth):
    similarity = x.astype(np.float64) @ x.T
    lists = normalised_lists(x, depth)
    for _ in range(rounds):
        counts = pair_counts(lists, k)
        lists = [
            [i, *sorted(row[1:], key=lambda j, i=i: (-counts[i, j], -similarity[i, j]))]
            for i, row in enumerate(lists)
        ]
    inside = np.zeros_like(counts)
    for i, row in enumerate(lists):
        inside[i, row[1:]] = 1
    return counts * inside / k**3


@pytest.mark.parametrize(("k", "rounds", "depth"), [(6, 1, 77), (6, 2, 77), (10, 3, 30), (8, 2, 9)])
def test_transductive_against_the_counting_loop(k, rounds, depth):
    dense = dense_cprr(EVERYONE, k, rounds, depth)
    ours = rerank.create("cprr", k=k, rounds=rounds, depth=depth).rerank(QUERIES, GALLERY, top=70)
    for row in range(len(QUERIES)):
        agrees(ours, row, dense[70 + row, :70])


def test_own_rows_against_the_counting_loop():
    dense = dense_cprr(GALLERY, 7, 2, 40)
    ours = rerank.create("cprr", k=7, rounds=2, depth=40).fit(GALLERY).rank_self(top=69)
    for i in range(70):
        agrees(ours, i, dense[i])


def test_an_unseen_query_is_ranked_nearly_as_if_it_alone_had_joined():
    assert as_if_joined(rerank.create("cprr", k=8), RELATED, 8) > 0.9


def test_one_round_of_an_unseen_query_by_hand():
    """Its list, the places it would get in the items' lists, and one product of each."""
    k = 5
    similarity = GALLERY.astype(np.float64) @ GALLERY.T
    np.fill_diagonal(similarity, 9)
    stored = normalised_lists(GALLERY, 70)
    places = np.argsort(rank_lists(GALLERY), axis=1)
    head = np.zeros((70, 70))
    for i, row in enumerate(stored):
        head[i, row[1:k]] = k - np.arange(1, k)
    ours = rerank.create("cprr", k=k, rounds=1).fit(GALLERY).rank(QUERIES, top=70)
    for row, query in enumerate(QUERIES):
        near = GALLERY.astype(np.float64) @ query
        order = np.argsort(-near, kind="stable")[:69]
        would_be = {int(j): 1 + int((np.delete(similarity[j], j) > near[j]).sum()) for j in order}
        value = {int(j): 70 - p + max(70 - would_be[int(j)], 0) for p, j in enumerate(order, 1)}
        own = np.zeros(70)
        own[sorted(value, key=lambda j: -value[j])[: k - 1]] = k - np.arange(1, k)
        named = np.zeros(70)
        for j, v in value.items():
            stored_values = [140 - places[j, x] - places[x, j] for x in stored[j][1:k]]
            place = 1 + sum(s > v for s in stored_values)
            named[j] = max(k - place, 0)
        scores = named @ head + k * (named + own) + own @ head.T
        scores[np.setdiff1d(np.arange(70), order)] = 0
        agrees(ours, row, scores / k**3)


def test_the_clusters_come_first():
    ranking = rerank.create("cprr", k=8).fit(GALLERY).rank_self(top=8)
    assert (LABELS[ranking.ids] == LABELS[:, None]).mean() > 0.95


@pytest.mark.parametrize("place", range(3), ids=["syn1000", "orl", "grocery"])
def test_agrees_with_the_authors_program(place, reference_root, data_root):
    figures = (68.49, 89.28, 60.40)
    difference = check_reference("cprr", "cprr", figures, place, reference_root, data_root)
    assert abs(difference) <= 0.3
