"""What GRAD-Net reads: graph, codes, rotation, and the choice of k."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from foldwalk.core import Graph, Neighbors, Vectors
from foldwalk.neighbors import knn_graph
from foldwalk.rerank.learned.gradnet import choice
from foldwalk.rerank.learned.gradnet.choice import choose_k, excess_transitivity
from foldwalk.rerank.learned.gradnet.graph import edge_weights, graph_input, propagation, reordered
from foldwalk.rerank.learned.gradnet.inputs import Inputs, codes, rotated, rotation_of
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams
from foldwalk.rerank.learned.shared.space import canonical_order
from samples import clustered

GALLERY = Vectors.check(clustered()[0]).unit()


def directions(vectors, **parameters):
    """H0 without the codes."""
    return Inputs.learn(vectors, GradNetParams(anchors=0, **parameters), seed=0).place(vectors)


@pytest.mark.parametrize(("anchors", "nearest", "books"), [(100, 3, 0), (41, 3, 0), (40, 3, 4), (60, 2, 4)])
def test_codes_take_as_many_items_a_centre_as_express_an_item(anchors, nearest, books):
    """Of 120 items."""
    params = GradNetParams(anchors=anchors, nearest_anchors=nearest)
    inputs = Inputs.learn(GALLERY, params, seed=0)
    assert len(inputs.centres) == books
    assert (inputs.place(GALLERY).shape[1] > GALLERY.dim) == bool(books)
    assert Inputs.learn(GALLERY, params.model_copy(update={"codes_only": True}), seed=0).centres


def test_edges_are_mutual_and_weighted_by_the_kernel():
    neighbors = knn_graph(GALLERY, 6)
    graph = graph_input(GALLERY, neighbors, GradNetParams(k=6), seed=0)
    dense = graph.affinity.toarray()
    for i in range(0, len(GALLERY), 7):
        for j in range(len(GALLERY)):
            mutual = j in neighbors.ids[i] and i in neighbors.ids[j]
            distance = np.linalg.norm(GALLERY.values[i] - GALLERY.values[j])
            assert dense[i, j] == pytest.approx(mutual / (1 + distance), abs=1e-4)
    degree = dense.sum(axis=1)
    root = np.sqrt(np.divide(1, degree, out=np.zeros_like(degree), where=degree > 0))
    assert np.allclose(graph.transitions.toarray(), root[:, None] * dense * root, atol=1e-6)


def test_kernels():
    neighbors = Neighbors(np.array([[1], [0]], np.int32), np.array([[0.5], [0.5]], np.float32))
    assert edge_weights(neighbors, "inverse_distance") == pytest.approx(1 / 2)  # d^2 = 2 - 2 / 2 = 1
    assert edge_weights(neighbors, "gaussian") == pytest.approx(np.exp(-1))  # the median of d^2 is 1
    assert edge_weights(neighbors, "cosine") == pytest.approx(0.5)


def test_renormalised_propagation_is_equation_7():
    affinity = np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0]], np.float32)
    transitions, loop = propagation(Graph(sparse.csr_array(affinity)), renormalise=True)
    with_self = affinity + np.eye(3)
    root = np.diag(with_self.sum(axis=1) ** -0.5)
    assert np.allclose(transitions.toarray() + np.diag(loop), root @ with_self @ root, atol=1e-6)


def test_codes_lie_on_the_simplex():
    z = codes(GALLERY, Vectors(GALLERY.values[:20]), nearest=3)
    assert z.shape == (len(GALLERY), 20)
    assert (z >= 0).all()
    assert np.allclose(z.sum(axis=1), 1, atol=1e-5)
    assert ((z > 0).sum(axis=1) <= 3).all()


def test_features_are_vectors_and_codes_and_zero_where_there_is_no_direction():
    holed = GALLERY.values.copy()
    holed[5] = 0
    vectors = Vectors(holed)
    as_they_are = GradNetParams(anchors=20, codebooks=1, centre=False)
    graph = graph_input(vectors, knn_graph(vectors, 5), as_they_are, seed=0)
    assert graph.features.shape == (len(holed), 16 + 20)
    assert np.array_equal(np.delete(graph.features[:, :16], 5, 0), np.delete(holed, 5, 0))
    assert not graph.features[5].any()
    bare = graph_input(vectors, knn_graph(vectors, 5), GradNetParams(anchors=0), seed=0)
    assert bare.features.shape == (len(holed), 16)
    codes_only = GradNetParams(anchors=20, codebooks=3, codes_only=True)
    only = graph_input(vectors, knn_graph(vectors, 5), codes_only, seed=0).features
    assert only.shape == (len(holed), 20 + 12 + 20)  # every other book has ten items a centre at least
    books = np.split(np.delete(only, 5, 0) * np.sqrt(3), [20, 32], axis=1)
    assert all(np.allclose(book.sum(axis=1), 1, atol=1e-5) for book in books)
    assert not np.array_equal(books[0], books[2])  # each k-means began elsewhere


def test_rotation_loses_nothing():
    wide = np.random.default_rng(0).normal(size=(12, 50)).astype(np.float32)
    narrow = rotated(wide, rotation_of(wide))
    assert narrow.shape == (12, 12)
    assert np.allclose(narrow @ narrow.T, wide @ wide.T, atol=1e-4)
    dependent = np.concatenate([wide[:4], wide[:4] + wide[4:8]]).astype(np.float32)
    repeated = rotation_of(np.concatenate([dependent, dependent]))
    assert repeated.shape == (50, 8)  # only as many dimensions as there are different directions
    tall = np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32)
    assert rotation_of(tall) is None
    assert rotation_of(np.zeros((2, 3), np.float32)).shape == (3, 1)


def test_points_of_the_plane_become_directions_that_keep_neighbours():
    points = Vectors.check(np.random.default_rng(0).normal(size=(200, 2)) * 30 + 1000)
    lifted = directions(points, metric="euclidean")
    assert np.allclose(np.linalg.norm(lifted, axis=1), 1, atol=1e-5)
    before, after = knn_graph(points, 1, "euclidean"), knn_graph(Vectors(lifted), 1, "cosine")
    assert (before.ids == after.ids).mean() > 0.9
    assert np.array_equal(directions(GALLERY, centre=False), GALLERY.values)


def test_what_all_vectors_share_is_taken_off():
    shared = Vectors.check([[3, 1, 0], [3, 0, 1], [3, -1, -1]])
    expected = [[0, 1, 0], [0, 0, 1], [0, -(2**-0.5), -(2**-0.5)]]  # the mean is (3, 0, 0)
    assert np.allclose(directions(shared), expected, atol=1e-6)
    assert not directions(Vectors.check([[1, 2], [1, 2]])).any()


def test_the_order_of_items_is_forgotten():
    shuffle = np.random.default_rng(0).permutation(len(GALLERY))
    shuffled = Vectors(GALLERY.values[shuffle])
    a, b = canonical_order(GALLERY), canonical_order(shuffled)
    assert np.array_equal(GALLERY.values[a], shuffled.values[b])
    neighbors = knn_graph(GALLERY, 4)
    again = reordered(neighbors, a)
    assert np.array_equal(again.ids, knn_graph(Vectors(GALLERY.values[a]), 4).ids)
    lonely = Neighbors(np.array([[1, -1], [0, -1]], np.int32), np.zeros((2, 2), np.float32))
    assert reordered(lonely, np.array([1, 0])).ids.tolist() == [[1, -1], [0, -1]]


def test_transitivity_of_a_small_graph_by_hand():
    """0 - 1 - 2 is a triangle, 3 hangs on 2: of 5 paths of two edges, each read both ways, 3 are closed."""
    ids = np.array([[1, 2, -1], [0, 2, -1], [0, 1, 3], [2, -1, -1], [-1, -1, -1]], np.int32)
    neighbors = Neighbors(ids, np.where(ids >= 0, np.float32(0.5), 0))
    chance = 3 / 4
    excess, error = excess_transitivity(neighbors, 3)
    assert excess == pytest.approx((3 / 5 - chance) / (1 - chance))
    # Closed less expected, item by item: 2 - 1.2, 2 - 1.2, 2 - 3.6, 0; of ten paths.
    assert error == pytest.approx((0.8**2 + 0.8**2 + 1.6**2) ** 0.5 / 10 / (1 - chance))
    nobody = Neighbors(np.full((3, 2), -1, np.int32), np.zeros((3, 2), np.float32))
    assert excess_transitivity(nobody, 2) == (0, 0)


@pytest.mark.parametrize("size", [7, 10, 13])
def test_chosen_k_fills_the_classes(size):
    """Well separated classes of `size` items: each item has size - 1 good neighbours."""
    rng = np.random.default_rng(1)
    centres = np.repeat(rng.normal(size=(40, 30)), size, axis=0)
    vectors = Vectors.check(centres + 0.1 * rng.normal(size=centres.shape)).unit()
    assert choose_k(knn_graph(vectors, 15)) == size - 1


def test_of_nearly_equal_choices_the_smallest_is_taken(monkeypatch):
    measured = {5: (0.48, 0.1), 6: (0.55, 0.1), 7: (0.53, 0.1), 8: (0.6, 0.06), 9: (0.2, 1.0)}
    monkeypatch.setattr(choice, "excess_transitivity", lambda _, k: measured[k])
    assert choose_k(knn_graph(GALLERY, 9)) == 6


def test_chosen_k_where_there_is_little_to_choose_from():
    assert choose_k(knn_graph(Vectors(GALLERY.values[:4]), 3)) == 3
    assert choose_k(Neighbors(np.zeros((1, 0), np.int32), np.zeros((1, 0), np.float32))) == 1
