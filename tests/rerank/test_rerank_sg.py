"""SuperGlobal re-ranking beside a loop written from its equations."""

from __future__ import annotations

import numpy as np
import pytest
from context_naive import check_reference
from reference import SETS

from foldwalk import rerank
from samples import clustered

GALLERY, LABELS = clustered(n=80, d=12)
QUERIES, _ = clustered(n=9, d=12, seed=4)


def refine(item, others, k, beta):
    """Itself and the k - 1 most similar of the others, weighed by beta times the similarity."""
    order = sorted(others, key=lambda x: -float(x @ item))[: k - 1]
    weights = [beta * max(float(x @ item), 0) for x in order]
    total = item.astype(np.float64) + sum(w * x for w, x in zip(weights, order, strict=True))
    return total / (1 + sum(weights))


def naive(query, gallery, k, beta, shortlist, dba, skip=None):
    """Scores of the shortlist, by id."""
    order = [int(i) for i in np.argsort(-(gallery @ query), kind="stable") if i != skip][:shortlist]
    around = range(len(gallery)) if dba else order
    refined = {i: refine(gallery[i], [gallery[j] for j in around if j != i], k, beta) for i in order}
    first = {i: float(refined[i] @ query) for i in order}
    best = sorted(order, key=lambda i: -first[i])[:k]
    pooled = np.max([refined[i] for i in best], axis=0)
    length = max(np.linalg.norm(pooled), 1)
    return {i: (first[i] + float(refined[i] @ pooled)) / 2 / length for i in order}


@pytest.mark.parametrize("dba", [False, True])
@pytest.mark.parametrize(
    ("k", "beta", "shortlist"), [(10, 0.15, 400), (4, 1.0, 30), (1, 0.5, 20), (6, 0, 50)]
)
def test_against_the_loop(k, beta, shortlist, dba):
    method = rerank.create("sg", k=k, beta=beta, shortlist=shortlist, dba=dba, dba_k=k).fit(GALLERY)
    ours = method.rank(QUERIES, top=80)
    for q, query in enumerate(QUERIES):
        expected = naive(query, GALLERY, k, beta, shortlist, dba)
        reached = ours.ids[q][ours.scores[q] > -1.9]
        assert set(reached.tolist()) == set(expected)
        assert np.allclose(ours.scores[q][: len(reached)], [expected[i] for i in reached], atol=1e-5)


def test_own_rows_against_the_loop():
    ours = rerank.create("sg", k=5, shortlist=25).fit(GALLERY).rank_self(top=25)
    for i in range(80):
        expected = naive(GALLERY[i], GALLERY, 5, 0.15, 25, False, skip=i)
        assert np.allclose(ours.scores[i], [expected[j] for j in ours.ids[i]], atol=1e-5)


def test_items_outside_the_shortlist_follow_in_the_order_of_plain_search():
    ours = rerank.create("sg", shortlist=12).fit(GALLERY).rank(QUERIES, top=80).ids
    plain = rerank.create("plain").fit(GALLERY).rank(QUERIES, top=80).ids
    assert (ours[:, 12:] == plain[:, 12:]).all()
    assert (np.sort(ours[:, :12], axis=1) == np.sort(plain[:, :12], axis=1)).all()
    assert (ours[:, :12] != plain[:, :12]).any()


def test_the_clusters_come_first():
    ranking = rerank.create("sg").fit(GALLERY).rank_self(top=8)
    assert (LABELS[ranking.ids] == LABELS[:, None]).mean() > 0.95


@pytest.mark.parametrize("place", range(3), ids=SETS)
def test_agrees_with_the_authors_program(place, reference_root, data_root):
    figures = (68.33, 83.95, 57.26)
    difference = check_reference("sg", "sg", figures, place, reference_root, data_root)
    assert abs(difference) <= 0.3
