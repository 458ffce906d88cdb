"""k-reciprocal encoding beside a dense form written from the paper's equations with Python sets."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk import rerank
from samples import clustered

GALLERY, LABELS = clustered(n=70, d=10)
QUERIES, _ = clustered(n=7, d=10, seed=4)


def dense_k_reciprocal(x, k1, k2, weight):
    n = len(x)
    squared = np.maximum(2 - 2 * (x.astype(np.float64) @ x.T.astype(np.float64)), 0)
    distance = squared / squared.max(axis=1, keepdims=True)
    order = [sorted(range(n), key=lambda j, i=i: (j != i, squared[i, j], j)) for i in range(n)]

    def mutual(i, k):
        return {j for j in order[i][: k + 1] if i in order[j][: k + 1]}

    encoding = np.zeros((n, n))
    for i in range(n):
        core = mutual(i, k1)
        members = set(core)
        for j in core:
            other = mutual(j, round(k1 / 2))
            if len(other & core) > 2 / 3 * len(other):
                members |= other
        for j in members:
            encoding[i, j] = np.exp(-distance[i, j])
        encoding[i] /= encoding[i].sum()
    averaged = np.array([encoding[order[i][:k2]].mean(axis=0) for i in range(n)])
    final = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            common = np.minimum(averaged[i], averaged[j]).sum()
            final[i, j] = (1 - weight) * (1 - common / (2 - common)) + weight * distance[i, j]
    return final


@pytest.mark.parametrize(("k1", "k2", "weight"), [(10, 4, 0.3), (7, 1, 0.3), (20, 6, 0.0), (5, 3, 0.8)])
def test_transductive_against_the_dense_form(k1, k2, weight):
    final = dense_k_reciprocal(np.concatenate([GALLERY, QUERIES]), k1, k2, weight)[70:, :70]
    ours = rerank.create("k_reciprocal", k1=k1, k2=k2, lambda_=weight).rerank(QUERIES, GALLERY, top=70)
    for q in range(len(QUERIES)):
        expected = 1 - final[q][ours.ids[q]]
        assert np.allclose(ours.scores[q], expected, atol=1e-5)
        assert (np.diff(expected) <= 1e-5).all()


def test_own_rows_against_the_dense_form():
    final = dense_k_reciprocal(GALLERY, 10, 4, 0.3)
    ours = rerank.create("k_reciprocal", k1=10, k2=4).fit(GALLERY).rank_self(top=69)
    for i in range(70):
        assert np.allclose(ours.scores[i], 1 - final[i][ours.ids[i]], atol=1e-5)


def test_with_the_whole_weight_on_the_distance_it_is_plain_search():
    plain = rerank.create("plain").fit(GALLERY)
    only = rerank.create("k_reciprocal", lambda_=1.0)
    assert (only.rerank(QUERIES, GALLERY, top=70).ids == plain.rank(QUERIES, top=70).ids).all()
    assert (only.fit(GALLERY).rank(QUERIES, top=70).ids == plain.rank(QUERIES, top=70).ids).all()


def test_unseen_queries_are_ranked_nearly_as_if_they_had_joined():
    method = rerank.create("k_reciprocal", k1=10)
    joined = method.rerank(QUERIES, GALLERY, top=10).ids
    unseen = method.fit(GALLERY).rank(QUERIES, top=10).ids
    common = [len(np.intersect1d(a, b)) / 10 for a, b in zip(joined, unseen, strict=True)]
    assert np.mean(common) > 0.8
