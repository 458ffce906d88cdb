"""Sparse contextual activation beside a dense form written from the paper's equations."""

from __future__ import annotations

import numpy as np
import pytest
from context_naive import EVERYONE, GALLERY, LABELS, QUERIES, agrees, rank_lists

from foldwalk import rerank
from foldwalk.neighbors import exact as neighbors_exact
from foldwalk.rerank import base
from samples import clustered


def activations(x, lists, k1):
    squared = np.maximum(2 - 2 * (x.astype(np.float64) @ x.T), 0)
    distance = squared / squared.max(axis=1, keepdims=True)
    out = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        for j in lists[i, :k1]:
            out[i, j] = 1 if i == j else np.exp(-distance[i, j])
        out[i] /= out[i].sum()
    return out


def jaccard(a, b, k2):
    common = np.minimum(a, b).sum()
    return common / (2 * k2 - common)


def dense_sca(x, k1, k2):
    lists = rank_lists(x)
    rows = activations(x, lists, k1)
    summed = np.array([rows[lists[i, :k2]].sum(axis=0) for i in range(len(x))])
    return np.array([[jaccard(a, b, k2) for b in summed] for a in summed])


@pytest.mark.parametrize(("k1", "k2"), [(4, 2), (10, 3), (6, 1), (2, 5)])
def test_transductive_against_the_dense_form(k1, k2):
    dense = dense_sca(EVERYONE, k1, k2)
    ours = rerank.create("sca", k1=k1, k2=k2).rerank(QUERIES, GALLERY, top=70)
    for row in range(len(QUERIES)):
        agrees(ours, row, dense[70 + row, :70])


def test_own_rows_against_the_dense_form():
    dense = dense_sca(GALLERY, 5, 3)
    np.fill_diagonal(dense, 0)
    ours = rerank.create("sca", k1=5, k2=3).fit(GALLERY).rank_self(top=69)
    for i in range(70):
        agrees(ours, i, dense[i])


def test_an_unseen_query_borrows_the_stored_activations():
    k1, k2 = 5, 3
    lists = rank_lists(GALLERY)
    stored = activations(GALLERY, lists, k1)
    summed = np.array([stored[lists[i, :k2]].sum(axis=0) for i in range(70)])
    ours = rerank.create("sca", k1=k1, k2=k2).fit(GALLERY).rank(QUERIES, top=70)
    for row, query in enumerate(QUERIES):
        squared = 2 - 2 * (GALLERY.astype(np.float64) @ query)
        nearest = np.argsort(squared, kind="stable")
        own = np.zeros(70)
        own[nearest[: k1 - 1]] = np.exp(-squared[nearest[: k1 - 1]] / squared.max())
        own /= 1 + own.sum()
        total = own + stored[nearest[: k2 - 1]].sum(axis=0)
        agrees(ours, row, np.array([jaccard(total, other, k2) for other in summed]))


def test_an_item_that_activates_only_itself_reaches_nothing():
    alone = rerank.create("sca", k1=1, k2=1).fit(GALLERY)
    plain = rerank.create("plain").fit(GALLERY)
    assert (alone.rank_self(top=69).ids == plain.rank_self(top=69).ids).all()
    assert (alone.rank(QUERIES, top=70).ids == plain.rank(QUERIES, top=70).ids).all()


def test_the_clusters_come_first():
    ranking = rerank.create("sca", k1=8, k2=3).fit(GALLERY).rank_self(top=8)
    assert (LABELS[ranking.ids] == LABELS[:, None]).mean() > 0.95


def test_where_there_are_many_a_few_tell_the_farthest(monkeypatch):
    items, _ = clustered(n=300, d=12)
    exact = rerank.create("sca").fit(items)
    assert exact.few is exact.vectors
    for module in (base, neighbors_exact):
        monkeypatch.setattr(module, "FARTHEST_UP_TO", 100)
    monkeypatch.setattr(base, "FEW", 40)
    sampled = rerank.create("sca").fit(items)
    assert 40 <= len(sampled.few) <= 80
    assert np.isin(sampled.few.values[:, 0], sampled.vectors.values[:, 0]).all()
    ours, theirs = sampled.rank_self(top=10).ids, exact.rank_self(top=10).ids
    assert (ours == theirs).mean() > 0.95


def test_by_default_most_items_of_a_class_are_reached():
    """Sets of 4 and 2, the first program's, leave most of a class to plain similarity."""
    x, _ = clustered(n=400, seed=2)
    default, first = (rerank.create("sca", **sizes) for sizes in ({}, {"k1": 4, "k2": 2}))
    assert (default.params.k1, default.params.k2) == (12, 5)

    def reached(method):
        return (method.fit(x).reached_from_rows(np.arange(len(x)), len(x)).ids >= 0).sum() / len(x)

    a_class = len(x) / 6
    assert reached(default) > 0.95 * a_class
    assert reached(first) < 0.6 * a_class
