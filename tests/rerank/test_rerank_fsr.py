"""Fast spectral ranking beside dense diffusion and a dense decomposition."""

from __future__ import annotations

import numpy as np
import pytest
from diffusion_naive import GALLERY, QUERIES, N, agrees, nearest, nearest_of, symmetric
from scipy import sparse

from foldwalk import rerank
from foldwalk.datasets.sets.synthetic import synthetic
from foldwalk.rerank.diffusion import fsr as fsr_module
from foldwalk.walk import subspace


def transitions(x, k):
    near = nearest(x, k - 1)
    affinity = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        for j in near[i]:
            if i in near[j]:
                affinity[i, j] = max(float(x[i] @ x[j]), 0) ** 3
    return symmetric(affinity)


def start(query, k):
    y = np.zeros(N)
    for j in nearest_of(query, GALLERY, k):
        y[j] = max(float(GALLERY[j] @ query), 0) ** 3
    return y


def test_with_all_eigenvectors_it_is_the_dense_diffusion():
    exact = np.linalg.inv(np.eye(N) - 0.9 * transitions(GALLERY, 10))
    ours = rerank.create("fsr", k=10, k_query=5, alpha=0.9).fit(GALLERY).rank(QUERIES, top=N)
    for q, query in enumerate(QUERIES):
        agrees(ours, q, exact @ start(query, 5))


def test_a_low_rank_keeps_the_leading_eigenvectors_of_each_component():
    matrix = transitions(GALLERY, 10)
    component = sparse.csgraph.connected_components(matrix)[1]
    low = np.zeros((N, N))
    for c in range(component.max() + 1):
        inside = np.flatnonzero(component == c)
        values, vectors = np.linalg.eigh(matrix[np.ix_(inside, inside)])
        for value, vector in list(zip(values, vectors.T, strict=True))[-3:]:
            low[np.ix_(inside, inside)] += np.outer(vector, vector) / (1 - 0.9 * value)
    ours = rerank.create("fsr", k=10, k_query=5, alpha=0.9, rank=3).fit(GALLERY).rank(QUERIES, top=N)
    for q, query in enumerate(QUERIES):
        agrees(ours, q, low @ start(query, 5))


def test_queries_stay_outside_the_graph():
    method = rerank.create("fsr")
    inside = method.fit(GALLERY).rank(QUERIES, top=N)
    assert (method.rerank(QUERIES, GALLERY, top=N).ids == inside.ids).all()


def test_without_walking_it_is_plain_search():
    plain = rerank.create("plain").fit(GALLERY)
    still = rerank.create("fsr", alpha=0).fit(GALLERY)
    assert (still.rank(QUERIES, top=N).ids == plain.rank(QUERIES, top=N).ids).all()


def test_the_randomised_spectrum_ranks_like_the_exact_one(monkeypatch):
    dataset = synthetic(1000)
    exact = rerank.create("fsr", rank=300).fit(dataset.gallery).rank(dataset.queries, top=50)
    monkeypatch.setattr(subspace, "DENSE_UP_TO", 10)
    rough = rerank.create("fsr", rank=300).fit(dataset.gallery).rank(dataset.queries, top=50)
    shared = [len(np.intersect1d(a, b)) for a, b in zip(exact.ids, rough.ids, strict=True)]
    assert (exact.scores != rough.scores).any(), "the range finder was not used"
    assert np.mean(shared) / 50 > 0.95


def test_loading_decomposes_nothing(tmp_path, monkeypatch):
    fitted = rerank.create("fsr", rank=5).fit(GALLERY)
    expected = fitted.rank(QUERIES).scores.tobytes()
    rerank.save(fitted, tmp_path / "fsr.npz")

    def refuse(*_):
        raise AssertionError("the graph was decomposed again")

    monkeypatch.setattr(fsr_module, "leading_eigenpairs", refuse)
    assert rerank.load(tmp_path / "fsr.npz").rank(QUERIES).scores.tobytes() == expected


@pytest.mark.parametrize("items", [40, 400])
def test_leading_eigenpairs_are_eigenpairs(items, monkeypatch):
    monkeypatch.setattr(subspace, "DENSE_UP_TO", 50)
    graph = rerank.create("dfs").fit(synthetic(items).gallery).transitions()
    values, vectors = subspace.leading_eigenpairs(graph, 15, alpha=0.99)
    exact = np.linalg.eigvalsh(graph.toarray().astype(np.float64))[::-1][:15]
    assert np.allclose(values[:8], exact[:8], atol=1e-3)
    assert np.allclose(values, exact, atol=0.02)
    assert np.allclose(vectors.T @ vectors, np.eye(15), atol=1e-4)
    assert np.allclose(graph @ vectors, vectors * values, atol=0.1)
