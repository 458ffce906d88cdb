"""The locally constrained diffusion process beside its dense iteration."""

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


def transitions(x, k):
    affinity, width = local_gaussian(x, k)
    return row_normalised(only_nearest(affinity, x, k)), width


def iterate(p, steps):
    similarity = p
    for _ in range(steps):
        similarity = p @ similarity @ p.T
    return similarity


@pytest.mark.parametrize(("k", "steps"), [(6, 3), (4, 0), (9, 1)])
def test_rows_are_those_of_the_dense_iteration(k, steps):
    ours = rerank.create("lcdp", k=k, steps=steps).fit(GALLERY).rank_self(top=N - 1)
    agrees_everywhere(ours, iterate(transitions(GALLERY, k)[0], steps))


def test_transductive_queries_join_the_graph():
    dense = iterate(transitions(EVERYONE, 6)[0], 3)
    ours = rerank.create("lcdp", k=6, steps=3).rerank(QUERIES, GALLERY, top=N)
    for q in range(len(QUERIES)):
        agrees(ours, q, dense[N + q, :N])


def test_an_unseen_query_has_edges_of_its_own_only():
    p, width = transitions(GALLERY, 6)
    ours = rerank.create("lcdp", k=6, steps=3).fit(GALLERY).rank(QUERIES, top=N)
    power = np.linalg.matrix_power
    for q, query in enumerate(QUERIES):
        row, near = np.zeros(N), nearest_of(query, GALLERY, 5)
        row[near] = local_gaussian_of(query, GALLERY, width, 6)[near]
        agrees(ours, q, row @ power(p, 3) @ power(p.T, 3))


def test_cutting_rows_hardly_changes_the_answer():
    gallery = synthetic(1000).gallery
    whole = rerank.create("lcdp", dense=True).fit(gallery).rank_self(top=50).ids
    cut = rerank.create("lcdp").fit(gallery).rank_self(top=50).ids
    assert np.mean([len(np.intersect1d(a, b)) for a, b in zip(whole, cut, strict=True)]) / 50 > 0.995
