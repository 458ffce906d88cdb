"""The contextual dissimilarity measure beside a dense form written from its definition."""

from __future__ import annotations

import numpy as np
import pytest
from context_naive import EVERYONE, GALLERY, LABELS, QUERIES, agrees

from foldwalk import rerank


def distances(x, y):
    return np.sqrt(np.maximum(2 - 2 * (x.astype(np.float64) @ y.T.astype(np.float64)), 0))


def dense_scales(x, k, rounds, alpha):
    plain = distances(x, x)
    scale = np.ones(len(x))
    for _ in range(rounds):
        measure = plain * scale[:, None] * scale[None, :]
        near = np.zeros(len(x))
        for i in range(len(x)):
            near[i] = np.mean(sorted(measure[i, j] for j in range(len(x)) if j != i)[:k])
        scale = scale * (np.prod(near ** (1 / len(x))) / near) ** alpha
    return scale


def dense_scores(queries, items, scale):
    """Falls with the scaled distance; zero for what stands at a right angle or beyond."""
    return np.where(queries @ items.T > 0, 1 / (1 + distances(queries, items) * scale), 0)


CASES = [(10, 1, 0.5), (4, 1, 1.0), (5, 6, 0.5), (3, 20, 0.3)]


@pytest.mark.parametrize(("k", "rounds", "alpha"), CASES)
def test_transductive_against_the_dense_form(k, rounds, alpha):
    scale = dense_scales(EVERYONE, k, rounds, alpha)
    method = rerank.create("cdm", k=k, rounds=rounds, alpha=alpha, dense=True)
    ours = method.rerank(QUERIES, GALLERY, top=70)
    expected = dense_scores(QUERIES, GALLERY, scale[:70])
    for row in range(len(QUERIES)):
        agrees(ours, row, expected[row])


def test_unseen_queries_and_own_rows_use_the_gallerys_scales():
    scale = dense_scales(GALLERY, 6, 1, 0.5)
    fitted = rerank.create("cdm", k=6).fit(GALLERY)
    ours, own = fitted.rank(QUERIES, top=70), fitted.rank_self(top=69)
    for row, expected in enumerate(dense_scores(QUERIES, GALLERY, scale)):
        agrees(ours, row, expected)
    for row, expected in enumerate(dense_scores(GALLERY, GALLERY, scale)):
        expected[row] = 0
        agrees(own, row, expected)


def test_many_rounds_make_all_neighbourhoods_equal():
    fitted = rerank.create("cdm", k=6, rounds=200, dense=True).fit(GALLERY)
    measure = distances(GALLERY, GALLERY) * fitted.delta[:, None] * fitted.delta
    near = np.sort(measure + 9 * np.eye(70), axis=1)[:, :6].mean(axis=1)
    assert near.std() < 0.01 * near.mean()
    plain = np.sort(distances(GALLERY, GALLERY) + 9 * np.eye(70), axis=1)[:, :6].mean(axis=1)
    assert plain.std() > 0.05 * plain.mean()


def test_a_pool_of_everyone_is_the_dense_form():
    pooled = rerank.create("cdm", k=4, rounds=5, pool=69).fit(GALLERY)
    assert np.allclose(pooled.delta, rerank.create("cdm", k=4, rounds=5, dense=True).fit(GALLERY).delta)


def test_with_alpha_zero_it_is_plain_search():
    still = rerank.create("cdm", alpha=0).fit(GALLERY)
    assert (
        still.rank(QUERIES, top=70).ids == rerank.create("plain").fit(GALLERY).rank(QUERIES, top=70).ids
    ).all()


def test_copies_do_not_make_scales_infinite():
    copies = np.concatenate([GALLERY, np.repeat(GALLERY[:1], 30, axis=0)])
    for rounds in (1, 50):
        fitted = rerank.create("cdm", rounds=rounds).fit(copies)
        assert np.isfinite(fitted.delta).all()
        assert (fitted.delta > 0).all()
    same = rerank.create("cdm").fit(np.ones((20, 3)))
    assert (same.delta == 1).all()


def test_the_clusters_come_first():
    ranking = rerank.create("cdm").fit(GALLERY).rank_self(top=8)
    assert (LABELS[ranking.ids] == LABELS[:, None]).mean() > 0.95
