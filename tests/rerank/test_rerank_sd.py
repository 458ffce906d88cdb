"""Self-diffusion beside its dense iteration and its symmetry."""

from __future__ import annotations

import numpy as np
import pytest
from diffusion_naive import (
    EVERYONE,
    GALLERY,
    QUERIES,
    N,
    agrees,
    agrees_everywhere,
    local_gaussian,
    local_gaussian_of,
    nearest_of,
    only_nearest,
    row_normalised,
)

from foldwalk import rerank
from foldwalk.datasets.sets.synthetic import synthetic


def affinity(x, k):
    dense, width = local_gaussian(x, k)
    directed = only_nearest(dense, x, k)
    return (directed + directed.T) / 2, width


def self_diffusion(w, steps):
    p = row_normalised(w)
    smoothed = np.eye(len(w))
    for _ in range(steps):
        smoothed = smoothed @ p + np.eye(len(w))
    return smoothed / w.sum(axis=1)


@pytest.mark.parametrize(("k", "steps"), [(6, 20), (4, 1), (9, 5)])
def test_rows_are_those_of_the_dense_iteration(k, steps):
    dense = self_diffusion(affinity(GALLERY, k)[0], steps)
    agrees_everywhere(rerank.create("sd", k=k, steps=steps).fit(GALLERY).rank_self(top=N - 1), dense)


def test_the_self_normalised_affinity_is_symmetric():
    ranking = rerank.create("sd", k=6).fit(GALLERY).rank_self(top=N - 1)
    scores = np.zeros((N, N))
    np.put_along_axis(scores, ranking.ids, np.maximum(ranking.scores, 0), axis=1)
    assert scores.max() > 0
    assert np.allclose(scores, scores.T, rtol=1e-4)


def test_transductive_queries_join_the_graph():
    dense = self_diffusion(affinity(EVERYONE, 6)[0], 20)
    ours = rerank.create("sd", k=6).rerank(QUERIES, GALLERY, top=N)
    for q in range(len(QUERIES)):
        agrees(ours, q, dense[N + q, :N])


def test_an_unseen_query_has_edges_of_its_own_only():
    w, width = affinity(GALLERY, 6)
    dense = self_diffusion(w, 19)
    ours = rerank.create("sd", k=6).fit(GALLERY).rank(QUERIES, top=N)
    for q, query in enumerate(QUERIES):
        row, near = np.zeros(N), nearest_of(query, GALLERY, 5)
        row[near] = local_gaussian_of(query, GALLERY, width, 6)[near]
        agrees(ours, q, row @ dense)


def test_cutting_rows_hardly_changes_the_answer():
    gallery = synthetic(1000).gallery
    whole = rerank.create("sd", dense=True).fit(gallery).rank_self(top=50).ids
    cut = rerank.create("sd").fit(gallery).rank_self(top=50).ids
    assert np.mean([len(np.intersect1d(a, b)) for a, b in zip(whole, cut, strict=True)]) / 50 > 0.99
