"""A system whose items are numbered along the graph has the same answers, in the items' own order."""

from __future__ import annotations

import numpy as np
import pytest
from walk_naive import some_transitions

from foldwalk import rerank
from foldwalk.walk import NumberedSystem, numbered, solve_diffusion


@pytest.mark.parametrize("parts", [1, 5])
def test_same_answers(monkeypatch, parts):
    transitions = some_transitions(parts=parts)
    sides = np.random.default_rng(1).normal(size=(60, 7))
    exact = solve_diffusion(transitions, sides, 0.9, 1e-12, 500)
    assert np.array_equal(NumberedSystem(transitions).solve(sides, 0.9, 1e-12, 500), exact)
    monkeypatch.setattr(numbered, "NUMBER_ABOVE", 10)
    system = NumberedSystem(transitions)
    assert system.order is not None
    assert not np.array_equal(system.order, np.arange(60))
    assert np.allclose(system.solve(sides, 0.9, 1e-12, 500), exact, atol=1e-10)


def test_neighbours_stand_closer(monkeypatch):
    """A ring in random order: numbered along itself, no edge is long but those that close it."""
    n, shuffled = 200, np.random.default_rng(0).permutation(200)
    ring = np.zeros((n, n), np.float32)
    ring[shuffled, np.roll(shuffled, 1)] = ring[np.roll(shuffled, 1), shuffled] = 0.5
    monkeypatch.setattr(numbered, "NUMBER_ABOVE", 10)
    edges = NumberedSystem(numbered.sparse.csr_array(ring)).matrix.tocoo()
    assert np.abs(edges.row - edges.col).max() <= 2


@pytest.mark.parametrize(
    "name", ["dfs", "manifold_ranking", "fsr", "gnn", "k_reciprocal", "lhrr", "bfs_tree", "gdp"]
)
def test_methods_rank_alike(monkeypatch, tmp_path, name):
    rng = np.random.default_rng(3)
    gallery, queries = rng.normal(size=(300, 8)), rng.normal(size=(5, 8))

    def answers(method):
        joined = rerank.create(name).rerank(queries, gallery, top=20)
        return [method.rank(queries, top=20), method.rank_self(top=20), joined]

    plain = answers(rerank.create(name).fit(gallery))
    monkeypatch.setattr(numbered, "NUMBER_ABOVE", 10)
    along = rerank.create(name).fit(gallery)
    rerank.save(along, tmp_path / "fitted.npz")
    for method in (along, rerank.load(tmp_path / "fitted.npz")):
        for expected, found in zip(plain, answers(method), strict=True):
            assert np.allclose(found.scores, expected.scores, atol=1e-5)
            assert (found.ids == expected.ids).mean() > 0.99  # equal scores may change places
