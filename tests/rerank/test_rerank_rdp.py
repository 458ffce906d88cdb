"""Regularised diffusion beside its dense iteration, its closed form and the authors' answers."""

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
    nearest,
    nearest_of,
    squared_distances,
    symmetric,
)
from reference import SETS, load_reference, overlap

from foldwalk import rerank
from foldwalk.datasets.sets.synthetic import synthetic


def affinity(x, k):
    squared = squared_distances(x, x)
    directed = np.zeros(squared.shape)
    for i, near in enumerate(nearest(x, k - 1)):
        directed[i, i] = 1
        for j in near:
            directed[i, j] = np.exp(-((squared[i, j] / squared.max()) ** 2) / 0.25)
    return (directed + directed.T) / 2


def iterate(transitions, mu, steps):
    alpha, identity = 1 / (1 + mu), np.eye(len(transitions))
    similarity = identity
    for _ in range(steps):
        similarity = alpha * transitions @ similarity @ transitions.T + (1 - alpha) * identity
    return similarity


@pytest.mark.parametrize(("k", "mu", "steps"), [(6, 0.3, 20), (3, 1.0, 3), (10, 0.1, 1)])
def test_rows_are_those_of_the_dense_iteration(k, mu, steps):
    dense = iterate(symmetric(affinity(GALLERY, k)), mu, steps)
    ours = rerank.create("rdp", k=k, mu=mu, steps=steps).fit(GALLERY).rank_self(top=N - 1)
    agrees_everywhere(ours, dense)


def test_transductive_queries_join_the_graph():
    dense = iterate(symmetric(affinity(EVERYONE, 6)), 0.3, 20)
    ours = rerank.create("rdp", k=6).rerank(QUERIES, GALLERY, top=N)
    for q in range(len(QUERIES)):
        agrees(ours, q, dense[N + q, :N])


def test_after_many_steps_it_is_the_closed_form():
    """S is symmetric, so the fixed point is (1 - alpha) (I - alpha S^2)^-1."""
    transitions = symmetric(affinity(GALLERY, 6))
    exact = np.linalg.inv(np.eye(N) - transitions @ transitions / 1.3)
    agrees_everywhere(rerank.create("rdp", k=6, steps=100).fit(GALLERY).rank_self(top=N - 1), exact)


def test_an_unseen_query_has_edges_of_its_own_only():
    weights = affinity(GALLERY, 6)
    transitions = symmetric(weights)
    dense = iterate(transitions, 0.3, 20)
    farthest = squared_distances(GALLERY, GALLERY).max()
    ours = rerank.create("rdp", k=6).fit(GALLERY).rank(QUERIES, top=N)
    for q, query in enumerate(QUERIES):
        row = np.zeros(N)
        for j in nearest_of(query, GALLERY, 5):
            squared = squared_distances(query[None], GALLERY)[0, j]
            row[j] = np.exp(-((squared / farthest) ** 2) / 0.25) / np.sqrt(weights[j].sum())
        agrees(ours, q, row @ dense @ transitions.T)


def test_without_a_step_it_is_plain_search():
    still = rerank.create("rdp", steps=0)
    plain = rerank.create("plain").fit(GALLERY)
    assert (still.rerank(QUERIES, GALLERY, top=N).ids == plain.rank(QUERIES, top=N).ids).all()


def test_cutting_rows_hardly_changes_the_answer():
    gallery = synthetic(1000).gallery
    whole = rerank.create("rdp", dense=True).fit(gallery).rank_self(top=50).ids
    cut = rerank.create("rdp").fit(gallery).rank_self(top=50).ids
    assert np.mean([len(np.intersect1d(a, b)) for a, b in zip(whole, cut, strict=True)]) / 50 > 0.99


@pytest.mark.parametrize(("place", "figure"), list(enumerate((71.72, 83.72, 62.17))), ids=SETS)
def test_agrees_with_the_authors_program(place, figure, reference_root, data_root):
    reference = load_reference(SETS[place], reference_root, data_root)
    method = rerank.create("rdp", k=15, dense=True)
    ours = method.rerank(reference.queries, reference.gallery, top=len(reference.gallery))
    assert overlap(ours, reference.answers["rdp_k15"]) >= 0.999
    assert reference.mean_average_precision(ours) == pytest.approx(figure, abs=0.3)
