"""Pairs that the graph agrees on, beside sets worked out by loops."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk.core import BadInput, Neighbors, Vectors
from foldwalk.graph import expand_sets, reciprocal_sets
from foldwalk.neighbors import knn_graph
from foldwalk.rerank.learned.shared.pseudo_labels import GivenLabels, PseudoLabels
from samples import clustered

GALLERY, LABELS = clustered(n=120)


def test_pairs_share_most_of_their_sets():
    neighbors = knn_graph(Vectors(GALLERY).unit(), 30)
    sets = expand_sets(reciprocal_sets(neighbors, 20), reciprocal_sets(neighbors, 10))
    members = [set(sets.indices[a:b].tolist()) for a, b in zip(sets.indptr, sets.indptr[1:], strict=False)]
    found = PseudoLabels(neighbors).same(np.arange(120), neighbors.ids)
    for i in range(120):
        for place, j in enumerate(neighbors.ids[i]):
            both, either = members[i] & members[j], members[i] | members[j]
            assert found[i, place] == (2 * len(both) > len(either))


def test_on_clusters_they_are_nearly_always_right():
    neighbors = knn_graph(Vectors(GALLERY).unit(), 30)
    same = PseudoLabels(neighbors).same(np.arange(120), neighbors.ids)
    right = LABELS[neighbors.ids] == LABELS[:, None]
    assert right[same].mean() > 0.97
    assert same[right].mean() > 0.5


def test_nobody_belongs_with_an_absent_item():
    lonely = Neighbors(np.array([[1, -1], [0, -1], [-1, -1]], np.int32), np.zeros((3, 2), np.float32))
    same = PseudoLabels(lonely).same(np.arange(3), lonely.ids)
    assert same.tolist() == [[True, False], [True, False], [False, False]]


def test_chains_are_the_closure_of_pairs():
    scattered = np.random.default_rng(1).normal(size=(120, 3)).astype(np.float32)
    labels = PseudoLabels(knn_graph(Vectors(scattered).unit(), 30))
    everybody = np.tile(np.arange(120), (120, 1))
    reached = labels.same(np.arange(120), everybody) | np.eye(120, dtype=bool)
    for middle in range(120):
        reached |= reached[:, middle, None] & reached[middle]
    assert (labels.chained(np.arange(120), everybody) == reached).all()
    assert reached.sum() > labels.same(np.arange(120), everybody).sum()
    assert not labels.chained(np.arange(3), np.full((3, 2), -1)).any()


def test_given_labels():
    labels = GivenLabels(["a", "b", "a"], 3)
    assert labels.same(np.array([0, 1]), np.array([[2, 1, -1], [0, 1, 2]])).tolist() == [
        [True, False, False],
        [False, True, False],
    ]
    assert labels.chained(np.array([0]), np.array([[2, 1, -1]])).tolist() == [[True, False, False]]
    with pytest.raises(BadInput, match="one for each of 4 items"):
        GivenLabels([1, 2], 4)
