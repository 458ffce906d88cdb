"""Query expansion with decay beside a loop written from its definition."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk import rerank
from samples import clustered

GALLERY, _ = clustered(n=80, d=12)
QUERIES, _ = clustered(n=9, d=12, seed=4)


def nearest(query, items, k, skip=None):
    order = sorted((i for i in range(len(items)) if i != skip), key=lambda i: (-float(items[i] @ query), i))
    return order[:k]


def expanded(query, items, k, skip=None):
    """The query has rank 0 of k + 1 and weighs one; the last of the k weighs 1 / (k + 1)."""
    total = query.astype(np.float64).copy()
    for rank, i in enumerate(nearest(query, items, k, skip), 1):
        total += (k + 1 - rank) / (k + 1) * items[i]
    return total / np.linalg.norm(total)


@pytest.mark.parametrize("dba", [False, True])
@pytest.mark.parametrize("k", [1, 6])
def test_against_a_loop(k, dba):
    ours = rerank.create("aqewd", k=k, dba=dba, dba_k=k).fit(GALLERY).rank(QUERIES, top=80)
    items = GALLERY
    if dba:
        items = np.array([expanded(x, GALLERY, k - 1, skip=i) for i, x in enumerate(GALLERY)])
    for q, query in enumerate(QUERIES):
        better = expanded(query, GALLERY, k)
        assert np.allclose(ours.scores[q], items[nearest(better, items, 80)] @ better, atol=1e-5)
        assert np.allclose(items[ours.ids[q]] @ better, ours.scores[q], atol=1e-5)


def test_own_rows_expand_without_themselves_twice():
    ours = rerank.create("aqewd", k=5).fit(GALLERY).rank_self(top=79)
    for i, x in enumerate(GALLERY):
        better = expanded(x, GALLERY, 5, skip=i)
        assert np.allclose(GALLERY[ours.ids[i]] @ better, ours.scores[i], atol=1e-5)
        assert i not in ours.ids[i]


def test_it_lies_between_plain_search_and_the_flat_mean():
    """The last of the k counts less than with flat weights, so it draws the query less."""
    query = np.array([[1, 0, 0]], np.float32)
    gallery = np.array([[0.9, 0.1, 0], [0.8, 0.3, 0], [0.6, 0, 0.8]], np.float32)
    ours = rerank.create("aqewd", k=3).fit(gallery)
    flat = rerank.create("aqe", k=3).fit(gallery)
    assert ours.rank(query).ids[0, 0] == 0
    pulled = [
        float(method.rank(query).scores[0][method.rank(query).ids[0] == 2][0]) for method in (ours, flat)
    ]
    assert pulled[0] < pulled[1]
