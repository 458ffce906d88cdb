"""Guided similarity separation: the untrained network is diffusion, training separates, queries fit in."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk import rerank
from foldwalk.core import Vectors
from foldwalk.rerank.learned.shared.space import Space
from samples import clustered

GALLERY, LABELS = clustered(n=60, d=10)


def elu(x):
    return np.where(x > 0, x, np.exp(x) - 1)


def transitions(points, k):
    """S of the paper by loops."""
    n = len(points)
    similarity = (points @ points.T).astype(np.float64)
    joined = np.eye(n)
    for i in range(n):
        others = [j for j in np.argsort(-similarity[i], kind="stable") if j != i][:k]
        for j in others:
            joined[i, j] = joined[j, i] = max(similarity[i, j], 0)
    degree = joined.sum(axis=1)
    return joined / np.sqrt(degree[:, None] * degree[None]), degree


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def test_untrained_it_is_two_steps_of_diffusion():
    fitted = rerank.create("gss", steps=0, k=4).fit(GALLERY)
    axes = Space.learn(Vectors(GALLERY), "cosine", 512)
    points = axes.place(GALLERY).astype(np.float64)
    assert np.allclose(points @ points.T, GALLERY @ GALLERY.T, atol=1e-5)
    step, _ = transitions(GALLERY, 4)
    first = step @ points
    expected = unit(first + 0.3 * elu(step @ elu(first)))
    assert np.allclose(fitted.learned.values @ fitted.learned.values.T, expected @ expected.T, atol=1e-3)


def test_training_separates_similarities():
    """The variance about beta, of which the loss is the negative half, must have grown."""
    before = rerank.create("gss", steps=0).fit(GALLERY)
    after = rerank.create("gss", steps=60, learning_rate=3e-3).fit(GALLERY)
    similar = [np.maximum(m.learned.values @ m.learned.values.T, 0) for m in (before, after)]
    beta = np.percentile(similar[0], 98)
    assert ((similar[1] - beta) ** 2).mean() > ((similar[0] - beta) ** 2).mean() + 0.01


def test_an_unseen_query_goes_through_the_same_layers():
    fitted = rerank.create("gss", steps=5, learning_rate=1e-2, k=4).fit(GALLERY)
    query = unit(GALLERY[:3] + 0.1 * np.random.default_rng(3).normal(size=(3, 10))).astype(np.float32)
    points, own = fitted.space.place(GALLERY), fitted.space.place(query)
    step, degree = transitions(GALLERY, 4)
    w1, b1, w2, b2 = fitted.weights
    hidden = elu(step @ points @ w1 + b1)
    items = unit(step @ points @ w1 + b1 + 0.3 * elu(step @ hidden @ w2 + b2))
    answer = fitted.rank(query, top=60)
    for q in range(3):
        similarity = GALLERY @ query[q]
        near = np.argsort(-similarity, kind="stable")[:4]
        total = 1 + similarity[near].sum()
        weights = similarity[near] / np.sqrt(total * degree[near])
        first = (weights @ points[near] + own[q] / total) @ w1 + b1
        second = (weights @ hidden[near] + elu(first) / total) @ w2 + b2
        z = unit((first + 0.3 * elu(second))[None])[0]
        assert np.allclose(answer.scores[q], (items @ z)[answer.ids[q]], atol=1e-4)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_axes_keep_what_they_can(metric):
    wide = Vectors(np.hstack([GALLERY[:8], np.zeros((8, 30))]).astype(np.float32))
    space = Space.learn(wide, metric, 512)
    assert space.axes.shape[1] <= 8
    placed = space.place(wide.values)
    directions = wide.values if metric == "cosine" else space.lift.place(wide.values)
    assert np.allclose(placed @ placed.T, directions @ directions.T, atol=1e-4)
    assert Space.learn(wide, metric, 3).axes.shape[1] == 3
