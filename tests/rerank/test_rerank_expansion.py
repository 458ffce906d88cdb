"""Query expansions beside loops written from their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk import rerank
from samples import clustered

GALLERY, _ = clustered(n=80, d=12)
QUERIES, _ = clustered(n=9, d=12, seed=4)


def unit(v):
    return v / np.linalg.norm(v)


def nearest(query, items, k, skip=None):
    order = sorted((i for i in range(len(items)) if i != skip), key=lambda i: (-float(items[i] @ query), i))
    return order[:k]


def naive_expansion(query, items, k, alpha, skip=None):
    total = query.astype(np.float64).copy()
    for i in nearest(query, items, k, skip):
        total += max(float(items[i] @ query), 0.0) ** alpha * items[i]
    return unit(total)


@pytest.mark.parametrize("dba", [False, True])
@pytest.mark.parametrize(("name", "alpha"), [("aqe", 0.0), ("alpha_qe", 3.0), ("alpha_qe", 1.5)])
def test_against_a_loop(name, alpha, dba):
    parameters = {"k": 5, "dba": dba, "dba_k": 5} | ({"alpha": alpha} if name == "alpha_qe" else {})
    ours = rerank.create(name, **parameters).fit(GALLERY).rank(QUERIES, top=80)
    items = GALLERY
    if dba:
        items = np.array([naive_expansion(x, GALLERY, 4, alpha, skip=i) for i, x in enumerate(GALLERY)])
    for q, query in enumerate(QUERIES):
        expanded = naive_expansion(query, GALLERY, 5, alpha)
        expected = items[nearest(expanded, items, 80)] @ expanded
        assert np.allclose(ours.scores[q], expected, atol=1e-5)
        assert np.allclose(items[ours.ids[q]] @ expanded, expected, atol=1e-5)


def test_the_gallery_has_a_k_of_its_own():
    ours = rerank.create("alpha_qe", k=9, dba=True, dba_k=4).fit(GALLERY).rank(QUERIES, top=80)
    items = np.array([naive_expansion(x, GALLERY, 3, 3.0, skip=i) for i, x in enumerate(GALLERY)])
    for q, query in enumerate(QUERIES):
        expanded = naive_expansion(query, GALLERY, 9, 3.0)
        assert np.allclose(ours.scores[q], items[nearest(expanded, items, 80)] @ expanded, atol=1e-5)
        assert np.allclose(items[ours.ids[q]] @ expanded, ours.scores[q], atol=1e-5)


@pytest.mark.parametrize("name", ["aqe", "alpha_qe", "aqewd", "dqe", "sg"])
def test_the_gallerys_k_is_the_querys_or_ten_unless_it_is_given(name):
    for k, expected in ((6, 10), (12, 12)):
        left_out = rerank.create(name, k=k, dba=True).fit(GALLERY).rank(QUERIES)
        said = rerank.create(name, k=k, dba=True, dba_k=expected).fit(GALLERY).rank(QUERIES)
        other = rerank.create(name, k=k, dba=True, dba_k=3).fit(GALLERY).rank(QUERIES)
        assert (left_out.scores == said.scores).all()
        assert not (left_out.scores == other.scores).all()
    ignored = rerank.create(name, k=6, dba_k=3).fit(GALLERY).rank(QUERIES)
    assert (ignored.scores == rerank.create(name, k=6).fit(GALLERY).rank(QUERIES).scores).all()


def test_own_rows_expand_without_themselves_twice():
    ours = rerank.create("aqe", k=5).fit(GALLERY).rank_self(top=79)
    for i, x in enumerate(GALLERY):
        expanded = naive_expansion(x, GALLERY, 5, 0.0, skip=i)
        expected = GALLERY[nearest(expanded, GALLERY, 79, skip=i)] @ expanded
        assert np.allclose(GALLERY[ours.ids[i]] @ expanded, expected, atol=1e-5)
        assert i not in ours.ids[i]


def test_alpha_zero_is_average_query_expansion():
    flat = rerank.create("alpha_qe", k=6, alpha=0).fit(GALLERY).rank(QUERIES)
    assert (flat.ids == rerank.create("aqe", k=6).fit(GALLERY).rank(QUERIES).ids).all()


def test_a_huge_alpha_leaves_the_query_as_it_was():
    sharp = rerank.create("alpha_qe", k=6, alpha=100).fit(GALLERY).rank(0.5 * QUERIES)
    assert (sharp.ids == rerank.create("plain").fit(GALLERY).rank(QUERIES).ids).mean() > 0.97
