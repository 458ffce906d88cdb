"""GNN re-ranking beside a dense form written from the paper's equations."""

from __future__ import annotations

import numpy as np
import pytest
from context_naive import EVERYONE, GALLERY, LABELS, QUERIES, agrees, check_reference, rank_lists

from foldwalk import rerank


def dense_gnn(x, k1, k2, alpha):
    lists = rank_lists(x)
    n = len(x)
    similarity = np.maximum(x.astype(np.float64) @ x.T, 0)
    rows = np.zeros((n, n))
    for i in range(n):
        rows[i, lists[i, :k1]] = 1
    for _ in range(2):
        rows = rows + rows.T
        spread = rows.copy()
        for i in range(n):
            for j in lists[i, :k2]:
                spread[i] += (1 if j == i else similarity[i, j] ** alpha) * rows[j]
        rows = spread / np.linalg.norm(spread, axis=1, keepdims=True)
    return rows @ rows.T


@pytest.mark.parametrize(("k1", "k2", "alpha"), [(26, 7, 2), (8, 3, 2), (5, 1, 2), (4, 9, 0.5)])
def test_transductive_against_the_dense_form(k1, k2, alpha):
    dense = dense_gnn(EVERYONE, k1, k2, alpha)
    ours = rerank.create("gnn", k1=k1, k2=k2, alpha=alpha, dense=True).rerank(QUERIES, GALLERY, top=70)
    for row in range(len(QUERIES)):
        agrees(ours, row, dense[70 + row, :70])


def test_own_rows_against_the_dense_form():
    dense = dense_gnn(GALLERY, 8, 4, 2)
    np.fill_diagonal(dense, 0)
    ours = rerank.create("gnn", k1=8, k2=4).fit(GALLERY).rank_self(top=69)
    for i in range(70):
        agrees(ours, i, dense[i])


def test_rows_are_cut_to_their_largest_entries():
    assert np.diff(rerank.create("gnn", keep=5).fit(GALLERY).final.indptr).max() == 5
    everything = rerank.create("gnn", dense=True).fit(GALLERY)
    assert np.diff(everything.final.indptr).max() > 50
    cut = rerank.create("gnn", keep=50).fit(GALLERY)
    same = [
        len(np.intersect1d(a, b)) / 10
        for a, b in zip(cut.rank_self(top=10).ids, everything.rank_self(top=10).ids, strict=True)
    ]
    assert np.mean(same) > 0.98


def test_unseen_queries_are_ranked_nearly_as_if_they_had_joined():
    method = rerank.create("gnn", k1=10, k2=4)
    joined = method.rerank(QUERIES, GALLERY, top=10).ids
    unseen = method.fit(GALLERY).rank(QUERIES, top=10).ids
    common = [len(np.intersect1d(a, b)) / 10 for a, b in zip(joined, unseen, strict=True)]
    assert np.mean(common) > 0.8


def test_the_clusters_come_first():
    ranking = rerank.create("gnn", k1=8, k2=4).fit(GALLERY).rank_self(top=8)
    assert (LABELS[ranking.ids] == LABELS[:, None]).mean() > 0.95


def test_loading_spreads_nothing(tmp_path, monkeypatch):
    fitted = rerank.create("gnn", k1=8).fit(GALLERY)
    rerank.save(fitted, tmp_path / "gnn.npz")
    monkeypatch.setattr(type(fitted), "_prepare", lambda _: pytest.fail("prepared again"))
    again = rerank.load(tmp_path / "gnn.npz")
    assert again.rank(QUERIES).scores.tobytes() == fitted.rank(QUERIES).scores.tobytes()


@pytest.mark.parametrize("place", range(3), ids=["syn1000", "orl", "grocery"])
def test_agrees_with_the_authors_program(place, reference_root, data_root):
    figures = (67.80, 90.17, 65.26)
    difference = check_reference("gnn", "gnn", figures, place, reference_root, data_root)
    assert abs(difference) <= 0.3
