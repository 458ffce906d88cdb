"""The generic diffusion process: each of its 72 variants beside a dense form written from the definitions."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from diffusion_naive import (
    GALLERY,
    LABELS,
    QUERIES,
    agrees,
    local_gaussian,
    local_gaussian_of,
    nearest_of,
    row_normalised,
    symmetric,
)

from foldwalk import rerank
from foldwalk.datasets.sets.synthetic import synthetic
from foldwalk.rerank.diffusion.gdp import method as gdp_method

FEW = GALLERY[:40]
K, ALPHA, STEPS = 6, 0.85, 3
VARIANTS = [
    (start, transition, update)
    for start in get_args(gdp_method.Start)
    for transition in get_args(gdp_method.Transition)
    for update in get_args(gdp_method.Update)
]


def largest(affinity, k):
    cut = np.zeros_like(affinity)
    for i, row in enumerate(affinity):
        for j in sorted(range(len(row)), key=lambda j, row=row: (-row[j], j))[:k]:
            cut[i, j] = row[j]
    return cut


def dominant(affinity, k):
    cut = largest(affinity, k)
    for i in range(len(cut)):
        near = np.flatnonzero(cut[i])
        inside = affinity[np.ix_(near, near)] * (1 - np.eye(len(near)))
        x = np.full(len(near), 1 / len(near))
        for _ in range(1000):
            after = x * (inside @ x) / (x @ inside @ x)
            done = np.abs(after - x).sum() < 1e-9
            x = after
            if done:
                break
        cut[i, near[x <= 1e-4]] = 0
    return cut


def dense_matrix(affinity, name):
    n = len(affinity)
    walk = row_normalised(affinity)
    return {
        "affinity": lambda: affinity,
        "identity": lambda: np.eye(n),
        "random_walk": lambda: walk,
        "pagerank": lambda: (1 - ALPHA) * np.linalg.inv(np.eye(n) - ALPHA * walk),
        "symmetric": lambda: symmetric(affinity),
        "knn": lambda: row_normalised(largest(affinity, K)),
        "dominant": lambda: row_normalised(dominant(affinity, K)),
    }[name]()


def dense_step(similarity, t, update):
    n = len(similarity)
    if update == "walk":
        return ALPHA * t @ similarity + (1 - ALPHA) * np.eye(n)
    if update == "tensor":
        return t @ similarity @ t.T
    played = (similarity @ t) * similarity.T
    return played / np.maximum(played.sum(axis=1, keepdims=True), 1 / n)


def test_there_are_72_variants():
    assert len(set(VARIANTS)) == 4 * 6 * 3


@pytest.mark.parametrize("variant", VARIANTS, ids="-".join)
def test_every_variant_is_its_dense_form(variant):
    start, transition, update = variant
    affinity, _ = local_gaussian(FEW, K)
    dense, t = dense_matrix(affinity, start), dense_matrix(affinity, transition)
    for _ in range(STEPS):
        dense = dense_step(dense, t, update)
    ours = rerank.create(
        "gdp", start=start, transition=transition, update=update, k=K, dense=True,
        steps=STEPS, until_settled=False,
    ).fit(FEW)  # fmt: skip
    found = ours.diffused.toarray()
    assert np.allclose(found / found.max(), dense / dense.max(), atol=1e-3)
    assert ours.rank_self(top=39).ids.shape == (40, 39)
    assert np.isfinite(ours.rank(QUERIES, top=10).scores).all()


@pytest.mark.parametrize("variant", VARIANTS, ids="-".join)
def test_every_variant_runs_with_its_rows_cut(variant):
    start, transition, update = variant
    method = rerank.create("gdp", start=start, transition=transition, update=update, k=6, wide=15, keep=20)
    ranking = method.fit(GALLERY).rank_self(top=5)
    assert np.isfinite(ranking.scores).all()
    # A game only thins out what it starts from.
    assert update == "game" or (np.diff(method.diffused.indptr) <= 20 + 1).all()
    # Twelve or so of a label among eighty: chance would give a sixth.
    assert (LABELS[ranking.ids] == LABELS[:, None]).mean() > 0.8


def test_unseen_queries_add_up_the_rows_of_their_neighbours():
    fitted = rerank.create("gdp", k=K, wide=40).fit(FEW)
    rows, width = fitted.diffused.toarray(), local_gaussian(FEW, K)[1]
    ours = fitted.rank(QUERIES, top=40)
    for q, query in enumerate(QUERIES):
        near = nearest_of(query, FEW, K - 1)
        agrees(ours, q, local_gaussian_of(query, FEW, width, K)[near] @ rows[near])


def test_it_stops_when_the_rankings_settle():
    affinity, _ = local_gaussian(FEW, K)
    t = dense_matrix(affinity, "knn")
    states, shared = [t], [-np.inf]
    for _ in range(15):
        states.append(t @ states[-1] @ t.T)
        firsts = [largest(s, 2 * K) > 0 for s in states[-2:]]
        shared.append((firsts[0] & firsts[1]).sum() / 40)
        if shared[-1] - shared[-2] < 0.3:
            break
    assert 2 <= len(states) - 1 < 15
    ours = rerank.create("gdp", k=K, dense=True).fit(FEW).diffused.toarray()
    assert np.allclose(ours / ours.max(), states[-1] / states[-1].max(), atol=1e-4)


def test_cutting_rows_hardly_changes_the_answer():
    gallery = synthetic(1000).gallery
    whole = rerank.create("gdp", dense=True).fit(gallery).rank_self(top=50).ids
    cut = rerank.create("gdp").fit(gallery).rank_self(top=50).ids
    assert np.mean([len(np.intersect1d(a, b)) for a, b in zip(whole, cut, strict=True)]) / 50 > 0.98


def test_loading_diffuses_nothing(tmp_path, monkeypatch):
    fitted = rerank.create("gdp").fit(GALLERY)
    expected = fitted.rank(QUERIES).scores.tobytes()
    rerank.save(fitted, tmp_path / "gdp.npz")

    def refuse(*_):
        raise AssertionError("the affinity was diffused again")

    monkeypatch.setattr(gdp_method, "Diffusion", refuse)
    assert rerank.load(tmp_path / "gdp.npz").rank(QUERIES).scores.tobytes() == expected
