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
    follows_lists,
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


def sorted_by(counts, lists, similarity):
    """Equals go to the more similar; who has no count keeps the order it had."""

    def key(i, j):
        return (-counts[i, j], -similarity[i, j] if counts[i, j] else 0)

    return [[i, *sorted(row[1:], key=lambda j, i=i: key(i, j))] for i, row in enumerate(lists)]


def dense_cprr(x, k, rounds, depth):
    similarity = x.astype(np.float64) @ x.T
    lists = normalised_lists(x, depth)
    for _ in range(rounds):
        counts = pair_counts(lists, k)
        lists = sorted_by(counts, lists, similarity)
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


@pytest.mark.parametrize("depth", [30, 77])
def test_what_no_pair_counts_keeps_the_order_of_the_lists(depth):
    similarity = EVERYONE.astype(np.float64) @ EVERYONE.T
    lists = normalised_lists(EVERYONE, depth)
    once = rerank.create("cprr", k=6, rounds=1, depth=depth).rerank(QUERIES, GALLERY, top=70)
    twice = rerank.create("cprr", k=6, rounds=2, depth=depth).rerank(QUERIES, GALLERY, top=70)
    counts = pair_counts(lists, 6)
    for row in range(len(QUERIES)):
        follows_lists(once, row, lists[70 + row][1:], similarity[70 + row, :70])
        before = sorted(lists[70 + row][1:], key=lambda j, i=70 + row: -counts[i, j])
        behind = twice.ids[row][(twice.scores[row] <= 0) & (twice.scores[row] > -1)]
        assert (np.diff(counts[70 + row, behind]) <= 0).all()
        uncounted = [j for j in behind if counts[70 + row, j] == 0]
        assert uncounted == [j for j in before if j in uncounted]


def test_lists_are_those_of_the_whole_set_as_long_as_that_is_affordable(monkeypatch):
    list_method = "foldwalk.rerank.context.shared.list_method"
    monkeypatch.setattr(f"{list_method}.SHORT", 20)
    assert rerank.create("cprr", k=6).fit(GALLERY).nearest.k == 69
    monkeypatch.setattr(f"{list_method}.PLACES", 70 * 40)
    assert rerank.create("cprr", k=6).fit(GALLERY).nearest.k == 39
    monkeypatch.setattr(f"{list_method}.PLACES", 1)
    fitted = rerank.create("cprr", k=6).fit(GALLERY)
    assert fitted.nearest.k == 19
    monkeypatch.setattr(f"{list_method}.PLACES", 70 * 40)
    given = rerank.create("cprr", k=6).fit(GALLERY, neighbors=fitted.known_neighbors)
    assert given.nearest.k == 19


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
        follows_lists(ours, row, sorted(value, key=lambda j: -value[j]), near)


def test_the_clusters_come_first():
    ranking = rerank.create("cprr", k=8).fit(GALLERY).rank_self(top=8)
    assert (LABELS[ranking.ids] == LABELS[:, None]).mean() > 0.95


@pytest.mark.parametrize("place", range(3), ids=["syn1000", "orl", "grocery"])
def test_agrees_with_the_authors_program(place, reference_root, data_root):
    figures = (68.49, 89.28, 60.40)
    difference = check_reference("cprr", "cprr", figures, place, reference_root, data_root, depth=400)
    assert abs(difference) <= 0.3
