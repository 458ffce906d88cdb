"""The anchor graph: weights against other solvers of eq. 9, and anchors of any number of items."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

from foldwalk.core import BadInput, Vectors
from foldwalk.graph import anchor_graph, local_anchor_embedding


def distance_to_hull(x: np.ndarray, corners: np.ndarray) -> float:
    """The squared distance of x to the convex hull of the corners.

    By non-negative least squares: the z of min |(U - x)' z|^2 + t^2 (sum z - 1)^2 over z >= 0, scaled to sum
    one, is the nearest point of the hull, whatever t is.
    """
    offsets = (corners - x).T
    t = np.linalg.norm(offsets, axis=0).min()
    if t == 0:
        return 0.0
    z, _ = nnls(np.vstack([offsets, np.full(len(corners), t)]), np.r_[np.zeros(len(x)), t], maxiter=1000)
    return float(((offsets @ (z / z.sum())) ** 2).sum())


def check_embedding(x: np.ndarray, anchors: np.ndarray, nearest: int) -> None:
    """Rows lie on the simplex, hold the nearest anchors only, and come as close to x as can be."""
    weights = local_anchor_embedding(Vectors.check(x), Vectors.check(anchors), nearest)
    assert weights.shape == (len(x), len(anchors))
    assert weights.dtype == np.float32
    assert (weights.data > 0).all()
    assert np.allclose(weights.sum(axis=1), 1, atol=1e-6)
    # As float32 sees them:
    x, anchors = x.astype(np.float32).astype(np.float64), anchors.astype(np.float32).astype(np.float64)
    distances = np.linalg.norm(x[:, None] - anchors[None], axis=2)
    count = min(nearest, len(anchors))
    for row, z in enumerate(weights.toarray().astype(np.float64)):
        order = np.argsort(distances[row], kind="stable")
        limit = distances[row, order[count - 1]]
        assert (distances[row, z > 0] <= limit * (1 + 1e-6)).all()
        assert (z > 0).sum() <= count
        reached = float(((z / z.sum() @ (anchors - x[row])) ** 2).sum())
        best = distance_to_hull(x[row], anchors[order[:count]])
        assert reached <= best + 1e-6 * distances[row, order[0]] ** 2 + 1e-12 * limit**2


@pytest.mark.parametrize("nearest", [1, 2, 3, 6, 50])
@pytest.mark.parametrize("d", [1, 2, 8])
def test_weights_are_optimal(d, nearest):
    rng = np.random.default_rng(d)
    check_embedding(rng.normal(size=(60, d)), rng.normal(size=(12, d)), nearest)


def test_weights_against_a_general_solver():
    rng = np.random.default_rng(0)
    x, anchors = rng.normal(size=(15, 5)), rng.normal(size=(3, 5))
    weights = local_anchor_embedding(Vectors.check(x), Vectors.check(anchors), 3).toarray()
    for row, z in zip(x, weights, strict=True):
        solved = minimize(
            lambda z, row=row: ((row - z @ anchors) ** 2).sum(),
            np.full(3, 1 / 3),
            method="SLSQP",
            bounds=[(0, 1)] * 3,
            constraints={"type": "eq", "fun": lambda z: z.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert np.allclose(z, solved.x, atol=1e-5)


@pytest.mark.parametrize("far", [1e2, 1e4])
def test_two_anchors_close_by_and_one_far_away(far):
    """The step of a plain gradient method would be as short as the far anchor demands."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        anchors = np.vstack([rng.normal(size=(2, 4)), far * rng.normal(size=(1, 4))])
        check_embedding(rng.normal(size=(5, 4)), anchors, 3)


def test_far_from_all_anchors_and_far_from_the_origin():
    rng = np.random.default_rng(0)
    check_embedding(100 + rng.normal(size=(20, 4)), rng.normal(size=(6, 4)), 4)
    check_embedding(100 + rng.normal(size=(20, 4)), 100 + rng.normal(size=(6, 4)), 4)


def test_by_hand():
    anchors = Vectors.check([[0.0, 0], [2, 0], [0, 9]])
    weights = local_anchor_embedding(
        Vectors.check([[0.5, 1], [-3, 0], [2, 0], [1, -5]]), anchors, 2
    ).toarray()
    assert np.allclose(weights, [[0.75, 0.25, 0], [1, 0, 0], [0, 1, 0], [0.5, 0.5, 0]], atol=1e-6)


def test_anchors_on_a_line_and_twice_at_one_place():
    x = np.array([[0.25, 1.0], [5, 5], [0, 0]])
    check_embedding(x, np.array([[0.0, 0], [1, 0], [2, 0], [3, 0]]), 4)
    check_embedding(x, np.array([[0.0, 0], [0, 0], [1, 0], [1, 0]]), 4)
    check_embedding(x, np.zeros((3, 2)), 3)


def test_graph_of_anchors():
    rng = np.random.default_rng(0)
    x = np.repeat(10 * rng.normal(size=(8, 5)), 25, axis=0) + 0.1 * rng.normal(size=(200, 5))
    graph = anchor_graph(Vectors.check(x), anchors=8, nearest=3, seed=1)
    assert len(graph.anchors) == 8
    centres = x.reshape(8, 25, 5).mean(axis=1)
    gaps = np.linalg.norm(graph.anchors.values[:, None] - centres[None], axis=2)
    assert gaps.min(axis=0).max() < 1
    assert np.allclose(graph.weights.sum(axis=1), 1, atol=1e-6)
    again = graph.embed(Vectors.check(x))
    assert np.array_equal(again.toarray(), graph.weights.toarray())
    new = graph.embed(Vectors.check(rng.normal(size=(3, 5))))
    assert new.shape == (3, 8)
    assert (np.diff(new.indptr) <= 3).all()


def same_bytes(a, b) -> bool:
    return all(
        p.tobytes() == q.tobytes()
        for p, q in [
            (a.anchors.values, b.anchors.values),
            (a.weights.data, b.weights.data),
            (a.weights.indices, b.weights.indices),
            (a.weights.indptr, b.weights.indptr),
        ]
    )


@pytest.mark.parametrize("n", [400, 50_001])
def test_the_same_seed_gives_the_same_bytes(n):
    vectors = Vectors.check(np.random.default_rng(0).normal(size=(n, 3)))
    first = anchor_graph(vectors, anchors=10, seed=5)
    assert same_bytes(first, anchor_graph(vectors, anchors=10, seed=5))


def test_another_seed_gives_other_anchors():
    vectors = Vectors.check(np.random.default_rng(0).normal(size=(400, 3)))
    assert not same_bytes(
        anchor_graph(vectors, anchors=10, seed=5), anchor_graph(vectors, anchors=10, seed=6)
    )


@pytest.mark.parametrize("copies", [1, 3, 60])
def test_more_anchors_than_different_items(copies):
    """Each different item becomes an anchor, and is expressed by it alone."""
    x = np.repeat(np.random.default_rng(0).normal(size=(5, 4)), copies, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = anchor_graph(Vectors.check(x), anchors=100)
    assert len(graph.anchors) == 5
    gaps = np.linalg.norm(x[:, None] - graph.anchors.values[None], axis=2)
    assert np.array_equal(graph.weights.toarray().argmax(axis=1), gaps.argmin(axis=1))
    assert np.allclose(graph.weights.max(axis=1).toarray(), 1, atol=1e-5)


def test_one_item():
    graph = anchor_graph(Vectors.check([[1.0, 2]]))
    assert np.allclose(graph.anchors.values, [[1, 2]])
    assert graph.weights.toarray().tolist() == [[1]]


@pytest.mark.parametrize(("anchors", "nearest"), [(0, 3), (-1, 3), (5, 0)])
def test_refuses_no_anchors(anchors, nearest):
    with pytest.raises(
        BadInput, match=rf"anchors \({anchors}\) and nearest \({nearest}\) must be at least 1"
    ):
        anchor_graph(Vectors.check(np.eye(3)), anchors, nearest)


@pytest.mark.parametrize("seed", [-1, True, 0.5])
def test_refuses_a_seed(seed):
    with pytest.raises(BadInput, match="seed"):
        anchor_graph(Vectors.check(np.eye(3)), 2, seed=seed)
