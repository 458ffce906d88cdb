"""EIR's kernel: members told by known or by computed similarities."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from foldwalk import rerank
from foldwalk.datasets import synthetic
from foldwalk.rerank.diffusion import eir
from foldwalk.rerank.diffusion.shared.truncated import solve_truncated
from foldwalk.walk.csr import parts


def test_known_and_computed_similarities_give_the_same_rows():
    vectors = np.random.default_rng(3).normal(size=(60, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = vectors @ vectors.T
    weights = np.where(scores > 0.3, scores, 0) * (1 - np.eye(60))
    graph = sparse.csr_array((weights / weights.sum(axis=1).max()).astype(np.float32))
    items, radius = np.arange(60), np.sort(scores)[:, -25] - np.float32(1e-6)

    def rows(known):
        ids, values = np.zeros((60, 30), np.int32), np.zeros((60, 30), np.float32)
        sizes = np.zeros(60, np.int64)
        solve_truncated(*parts(graph), vectors, True, items, known, radius, 0.9, 1e-6, 20, ids, values, sizes)
        return ids, values, sizes

    for a, b in zip(rows(scores), rows(scores[:, :9].copy()), strict=True):
        assert np.array_equal(a, b)
    assert 1 < rows(scores)[2].mean() <= 25


def test_a_radius_from_a_sample_leaves_the_first_fifty_nearly_the_same(monkeypatch):
    data = synthetic(6_000, d=32)

    def first_fifty():
        return rerank.create("eir").fit(data.gallery).rank(data.queries, top=50).ids

    sampled = first_fifty()
    monkeypatch.setattr(eir, "EXACT_UP_TO", 10_000)
    exact = first_fifty()
    shared = [len(np.intersect1d(a, b)) / 50 for a, b in zip(sampled, exact, strict=True)]
    assert 0.98 <= np.mean(shared) < 1
