"""Discriminative query expansion beside scikit-learn's linear support vector machine."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from foldwalk import rerank
from samples import clustered

GALLERY, LABELS = clustered(n=80, d=12)
QUERIES, _ = clustered(n=9, d=12, seed=4)


def learned(query, items, k, negatives, cost, skip=None):
    """The direction that LIBLINEAR learns: hinge loss, the bias regularised like a coordinate."""
    order = [i for i in np.argsort(-(items @ query), kind="stable") if i != skip]
    bottom = np.argsort(items @ query, kind="stable")[:negatives]
    examples = np.concatenate([query[None], items[order[:k]], items[bottom]])
    truth = np.concatenate([np.ones(1 + k), -np.ones(negatives)])
    machine = LinearSVC(C=cost, loss="hinge", tol=1e-7, max_iter=1_000_000, random_state=0)
    direction = machine.fit(examples.astype(np.float64), truth).coef_[0]
    return direction / np.linalg.norm(direction)


@pytest.mark.parametrize(("k", "negatives", "cost"), [(4, 20, 1.0), (1, 30, 0.1), (8, 5, 10.0)])
def test_directions_are_those_of_liblinear(k, negatives, cost):
    fitted = rerank.create("dqe", k=k, negatives=negatives, cost=cost).fit(GALLERY)
    ours = fitted.rank(QUERIES, top=80)
    for q, query in enumerate(QUERIES):
        expected = GALLERY @ learned(query, GALLERY, k, negatives, cost)
        assert np.allclose(ours.scores[q], expected[ours.ids[q]], atol=2e-3)


def test_own_rows_and_the_gallerys_side():
    fitted = rerank.create("dqe", k=5, negatives=20, dba=True, dba_k=5).fit(GALLERY)
    items = np.array([learned(x, GALLERY, 4, 20, 1.0, skip=i) for i, x in enumerate(GALLERY)])
    ours = fitted.rank_self(top=79)
    for i in range(0, 80, 9):
        expected = items @ learned(GALLERY[i], GALLERY, 5, 20, 1.0, skip=i)
        assert np.allclose(ours.scores[i], expected[ours.ids[i]], atol=5e-3)
        assert i not in ours.ids[i]


def test_euclidean_ranks_by_the_dot_product_with_the_direction():
    """Vectors of many lengths, centred and scaled, then the same machine: by w . x, not by its cosine."""
    rng = np.random.default_rng(1)
    gallery = (5 + GALLERY * rng.uniform(0.5, 3, size=(80, 1))).astype(np.float32)
    query = gallery[3] + 0.05
    fitted = rerank.create("dqe", k=4, negatives=20, metric="euclidean").fit(gallery)
    centre = gallery.mean(axis=0)
    scale = np.linalg.norm(gallery - centre, axis=1).mean()
    placed, asked = (gallery - centre) / scale, (query - centre) / scale
    squared = ((placed - asked) ** 2).sum(axis=1)
    near, far = np.argsort(squared, kind="stable")[:4], np.argsort(-squared, kind="stable")[:20]
    machine = LinearSVC(C=1.0, loss="hinge", tol=1e-7, max_iter=1_000_000, random_state=0)
    examples = np.concatenate([asked[None], placed[near], placed[far]]).astype(np.float64)
    scores = placed @ machine.fit(examples, [1] * 5 + [-1] * 20).coef_[0]
    ours = fitted.rank(query[None], top=80).ids[0]
    assert (np.diff(scores[ours]) <= 2e-3 * np.abs(scores).max()).all()


def test_never_more_than_half_of_the_rest_are_negatives():
    fitted = rerank.create("dqe", k=4, negatives=1000).fit(GALLERY)
    ours = fitted.rank(QUERIES, top=80)
    for q, query in enumerate(QUERIES):
        expected = GALLERY @ learned(query, GALLERY, 4, 38, 1.0)
        assert np.allclose(ours.scores[q], expected[ours.ids[q]], atol=2e-3)


def test_without_negatives_the_positives_are_added_up():
    few = GALLERY[:5]
    ours = rerank.create("dqe", k=4).fit(few).rank(QUERIES, top=5)
    flat = rerank.create("aqe", k=4).fit(few).rank(QUERIES, top=5)
    assert np.allclose(ours.scores, flat.scores, atol=1e-5)


def test_clusters_between_near_and_far_are_no_examples():
    """Where clusters are apart they come first. Where some lie next to each other (12 dimensions, 13 items
    each) the nearest stranger is neither among the positives nor among the farthest: what is learned is
    indifferent to it, and LIBLINEAR's machine puts it as high as ours does."""
    apart, labels = clustered()
    ranking = rerank.create("dqe").fit(apart).rank_self(top=10)
    assert (labels[ranking.ids] == labels[:, None]).mean() > 0.99
    ours = rerank.create("dqe").fit(GALLERY).rank_self(top=8)
    theirs = [
        np.argsort(np.where(np.arange(80) == i, np.inf, -(GALLERY @ learned(x, GALLERY, 4, 38, 1.0, skip=i))))
        for i, x in enumerate(GALLERY)
    ]
    hits = (LABELS[np.array(theirs)[:, :8]] == LABELS[:, None]).mean()
    assert (LABELS[ours.ids] == LABELS[:, None]).mean() == pytest.approx(hits, abs=0.01)
