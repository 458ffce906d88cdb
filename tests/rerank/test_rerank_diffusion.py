"""Diffusion methods beside dense forms written from their equations, and at their closed-form limits."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk import rerank
from foldwalk.core import BadInput
from foldwalk.rerank.diffusion import eir as eir_module
from samples import clustered

GALLERY, LABELS = clustered(n=90, d=12)
QUERIES, _ = clustered(n=8, d=12, seed=4)
PLAIN = rerank.create("plain").fit(GALLERY)


def knn_sets(x, k):
    similarity = x @ x.T
    return [
        set(sorted((j for j in range(len(x)) if j != i), key=lambda j: (-similarity[i, j], j))[:k])
        for i in range(len(x))
    ]


def symmetric(affinity):
    degrees = affinity.sum(axis=1)
    root = np.array([d**-0.5 if d > 0 else 0 for d in degrees])
    return root[:, None] * affinity * root[None, :]


def mutual_cosine_graph(x, others, gamma=3):
    sets = knn_sets(x, others)
    affinity = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        for j in sets[i]:
            if i in sets[j]:
                affinity[i, j] = max(float(x[i] @ x[j]), 0) ** gamma
    return symmetric(affinity)


def local_gaussian_graph(x, k):
    squared = ((x[:, None] - x[None]) ** 2).sum(axis=2).astype(np.float64)
    sets = knn_sets(x, k)
    width = np.array([max(np.sqrt(squared[i, j]) for j in sets[i]) for i in range(len(x))])
    affinity = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        for j in range(len(x)):
            if i != j and (j in sets[i] or i in sets[j]):
                affinity[i, j] = np.exp(-squared[i, j] / (width[i] * width[j]))
    return symmetric(affinity), width


def starts(query, items, k, gamma=3):
    similarity = items @ query
    y = np.zeros(len(items))
    for i in sorted(range(len(items)), key=lambda i: (-similarity[i], i))[:k]:
        y[i] = max(float(similarity[i]), 0) ** gamma
    return y


def agrees(ranking, row, scores, tolerance=1e-4):
    """The reached part of a ranking orders these dense scores, up to rounding."""
    reached = ranking.scores[row] > 0
    if not reached.any():
        assert scores.max() < tolerance
        return
    ids, ours = ranking.ids[row][reached], ranking.scores[row][reached]
    expected = scores[ids]
    assert np.allclose(ours / ours.max(), expected / scores.max(), atol=tolerance)
    assert (np.diff(expected) <= tolerance * scores.max()).all()
    left = np.setdiff1d(np.arange(len(scores)), ids)
    assert (scores[left] <= expected.min() + tolerance * scores.max()).all()


class TestManifoldRanking:
    @pytest.mark.parametrize("solver", ["cg", "closed"])
    def test_transductive_is_the_closed_form_of_the_paper(self, solver):
        everyone = np.concatenate([GALLERY, QUERIES])
        transitions, _ = local_gaussian_graph(everyone, 6)
        exact = np.linalg.inv(np.eye(len(everyone)) - 0.9 * transitions)
        method = rerank.create("manifold_ranking", k=6, alpha=0.9, solver=solver)
        ours = method.rerank(QUERIES, GALLERY, top=90)
        for q in range(len(QUERIES)):
            agrees(ours, q, exact[90 + q, :90])

    def test_unseen_queries_start_at_their_neighbours(self):
        transitions, width = local_gaussian_graph(GALLERY, 6)
        exact = np.linalg.inv(np.eye(90) - 0.9 * transitions)
        ours = rerank.create("manifold_ranking", k=6, k_query=3, alpha=0.9).fit(GALLERY).rank(QUERIES, 90)
        for q, query in enumerate(QUERIES):
            squared = ((GALLERY - query) ** 2).sum(axis=1).astype(np.float64)
            order = np.argsort(squared, kind="stable")
            own_width = np.sqrt(squared[order[5]])
            y = np.zeros(90)
            for i in order[:3]:
                y[i] = np.exp(-squared[i] / (own_width * width[i]))
            agrees(ours, q, exact @ y)

    def test_without_walking_it_is_plain_search(self):
        still = rerank.create("manifold_ranking", alpha=0)
        assert (still.rerank(QUERIES, GALLERY, top=90).ids == PLAIN.rank(QUERIES, top=90).ids).all()

    @pytest.mark.parametrize("kernel", ["gaussian", "cosine", "inverse"])
    @pytest.mark.parametrize("links", ["union", "mutual"])
    def test_every_kernel_and_link_finds_the_clusters(self, kernel, links):
        method = rerank.create("manifold_ranking", k=6, kernel=kernel, links=links)
        ranking = method.fit(GALLERY).rank_self(top=8)
        assert (LABELS[ranking.ids] == LABELS[:, None]).mean() > 0.95

    def test_the_closed_form_is_refused_on_many_items(self):
        with pytest.raises(BadInput, match="solver='cg'"):
            rerank.create("manifold_ranking", solver="closed").fit(np.ones((10_001, 2)))


class TestDFS:
    def test_against_the_dense_system(self):
        transitions = mutual_cosine_graph(GALLERY, 9)
        exact = np.linalg.inv(np.eye(90) - 0.9 * transitions)
        method = rerank.create("dfs", k=10, k_query=5, alpha=0.9, max_iterations=500, tolerance=1e-8)
        ours = method.fit(GALLERY).rank(QUERIES, top=90)
        for q, query in enumerate(QUERIES):
            agrees(ours, q, exact @ starts(query, GALLERY, 5))
        assert (method.rerank(QUERIES, GALLERY, top=90).ids == ours.ids).all()

    def test_without_walking_it_is_plain_search(self):
        still = rerank.create("dfs", alpha=0).fit(GALLERY)
        assert (still.rank(QUERIES, top=90).ids == PLAIN.rank(QUERIES, top=90).ids).all()


class TestEIR:
    def test_unseen_queries_add_up_rows_of_the_dense_inverse(self):
        transitions = mutual_cosine_graph(GALLERY, 9)
        exact = np.linalg.inv(np.eye(90) - 0.9 * transitions)
        method = rerank.create("eir", k=10, k_query=5, alpha=0.9, max_iterations=500, tolerance=1e-8)
        ours = method.fit(GALLERY).rank(QUERIES, top=90)
        for q, query in enumerate(QUERIES):
            agrees(ours, q, starts(query, GALLERY, 5) @ exact)

    def test_transductive_compares_rows_of_length_one(self):
        everyone = np.concatenate([GALLERY, QUERIES])
        exact = np.linalg.inv(np.eye(98) - 0.9 * mutual_cosine_graph(everyone, 9))
        exact /= np.linalg.norm(exact, axis=1, keepdims=True)
        method = rerank.create("eir", k=10, alpha=0.9, max_iterations=500, tolerance=1e-8, keep=10_000)
        # Rows are cut to as many as the gallery has: with every query's row that short of eight items.
        ours = method.rerank(QUERIES, GALLERY, top=90)
        for q in range(len(QUERIES)):
            agrees(ours, q, exact[90 + q] @ exact[:90].T, tolerance=2e-3)

    def test_rows_are_cut_to_the_nearest_items(self):
        fitted = rerank.create("eir", k=10, keep=7).fit(GALLERY)
        similarity = GALLERY @ GALLERY.T
        for i in range(90):
            row = fitted.offline[[i]]
            assert set(row.indices) <= set(np.argsort(-similarity[i], kind="stable")[:7].tolist())

    def test_without_walking_it_is_plain_search(self):
        still = rerank.create("eir", alpha=0).fit(GALLERY)
        assert (still.rank(QUERIES, top=90).ids == PLAIN.rank(QUERIES, top=90).ids).all()

    def test_loading_solves_nothing(self, tmp_path, monkeypatch):
        fitted = rerank.create("eir").fit(GALLERY)
        expected = fitted.rank(QUERIES).scores.tobytes()
        rerank.save(fitted, tmp_path / "eir.npz")

        def refuse(*_):
            raise AssertionError("the offline rows were solved again")

        monkeypatch.setattr(eir_module, "solve_truncated", refuse)
        assert rerank.load(tmp_path / "eir.npz").rank(QUERIES).scores.tobytes() == expected
