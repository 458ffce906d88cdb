"""Contextual similarity aggregation: untrained it compares affinities; training helps."""

from __future__ import annotations

import numpy as np

from foldwalk import rerank
from samples import clustered

GALLERY, LABELS = clustered(n=90, d=12)
QUERIES, _ = clustered(n=6, d=12, seed=3)


def test_untrained_it_compares_similarities_to_the_anchors():
    fitted = rerank.create("csa", steps=0, k=20, anchors=9).fit(GALLERY)
    answer = fitted.rank(QUERIES, top=20)
    mean = (GALLERY @ GALLERY.T).mean()
    for q, query in enumerate(QUERIES):
        near = np.argsort(-(GALLERY @ query), kind="stable")[:20]
        listed = np.vstack([query, GALLERY[near]])
        affinity = (listed @ listed[:9].T - mean) / (1 - mean)
        unit = affinity / np.linalg.norm(affinity, axis=1, keepdims=True)
        expected = dict(zip(near.tolist(), unit[1:] @ unit[0], strict=True))
        assert np.allclose(answer.scores[q], [expected[i] for i in answer.ids[q]], atol=1e-4)


def test_the_loss_falls_and_ranking_improves():
    """Clusters so wide that plain search is often wrong."""
    rng = np.random.default_rng(2)
    labels = np.arange(200) % 8
    items = (np.eye(40)[labels] + 0.2 * rng.normal(size=(200, 40))).astype(np.float32)

    def precision(**parameters):
        fitted = rerank.create("csa", k=60, anchors=16, **parameters).fit(items)
        ids = fitted.rank_self(top=24).ids
        return (labels[ids] == labels[:, None]).mean()

    assert precision(steps=60) > precision(steps=0) + 0.01


def test_what_is_not_on_the_list_follows_by_plain_similarity():
    fitted = rerank.create("csa", steps=2, k=15, anchors=8).fit(GALLERY)
    plain = rerank.create("plain").fit(GALLERY)
    assert (fitted.rank(QUERIES, top=90).ids[:, 15:] == plain.rank(QUERIES, top=90).ids[:, 15:]).all()
