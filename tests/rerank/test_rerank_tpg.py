"""Tensor product graph diffusion beside its iteration and its closed form over pairs."""

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


def transitions(x, k, wide):
    affinity, width = local_gaussian(x, k)
    return only_nearest(row_normalised(only_nearest(affinity, x, wide)), x, k), width


def iterate(a, steps):
    similarity = np.eye(len(a))
    for _ in range(steps):
        similarity = a @ similarity @ a.T + np.eye(len(a))
    return similarity


@pytest.mark.parametrize(("k", "wide", "steps"), [(6, N, 20), (6, 20, 3), (4, 4, 2)])
def test_rows_are_those_of_the_dense_iteration(k, wide, steps):
    dense = iterate(transitions(GALLERY, k, wide)[0], steps)
    ours = rerank.create("tpg", k=k, wide=wide, steps=steps).fit(GALLERY).rank_self(top=N - 1)
    agrees_everywhere(ours, dense)


def test_the_limit_is_the_inverse_over_the_graph_of_pairs():
    few = GALLERY[:24]
    a, _ = transitions(few, 5, 24)
    assert (a.sum(axis=1) < 1).all()
    exact = np.linalg.solve(np.eye(24 * 24) - np.kron(a, a), np.eye(24).ravel()).reshape(24, 24)
    agrees_everywhere(rerank.create("tpg", k=5, wide=24, steps=200).fit(few).rank_self(top=23), exact)


def test_transductive_queries_join_the_graph():
    dense = iterate(transitions(EVERYONE, 6, 20)[0], 20)
    ours = rerank.create("tpg", k=6, wide=20).rerank(QUERIES, GALLERY, top=N)
    for q in range(len(QUERIES)):
        agrees(ours, q, dense[N + q, :N])


def test_an_unseen_query_has_edges_of_its_own_only():
    a, width = transitions(GALLERY, 6, 20)
    dense = iterate(a, 19)
    ours = rerank.create("tpg", k=6, wide=20).fit(GALLERY).rank(QUERIES, top=N)
    for q, query in enumerate(QUERIES):
        row, near = np.zeros(N), nearest_of(query, GALLERY, 5)
        row[near] = local_gaussian_of(query, GALLERY, width, 6)[near]
        agrees(ours, q, row @ dense @ a.T)


def test_cutting_rows_hardly_changes_the_answer():
    gallery = synthetic(1000).gallery
    whole = rerank.create("tpg", dense=True).fit(gallery).rank_self(top=50).ids
    for parameters, least in (({"wide": 1000}, 0.995), ({}, 0.94)):
        cut = rerank.create("tpg", **parameters).fit(gallery).rank_self(top=50).ids
        same = [len(np.intersect1d(a, b)) for a, b in zip(whole, cut, strict=True)]
        assert np.mean(same) / 50 > least


def test_the_dense_form_divides_by_whole_rows():
    dense = iterate(transitions(GALLERY, 6, N)[0], 20)
    agrees_everywhere(rerank.create("tpg", k=6, dense=True).fit(GALLERY).rank_self(top=N - 1), dense)
