"""The scale of Euclidean vectors: what a typical distance is."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk.core import Vectors
from foldwalk.neighbors import prepare
from foldwalk.neighbors.scale import in_scale, own_scale

POINTS = np.random.default_rng(0).normal(size=(301, 7)) + 5


def scale(points):
    return own_scale(Vectors.check(points), "euclidean")


def test_it_is_the_median_distance_to_the_median_of_each_coordinate():
    points = POINTS.astype(np.float32).astype(np.float64)
    centre = [sorted(points[:, column])[150] for column in range(7)]
    distances = sorted(sum((row[c] - centre[c]) ** 2 for c in range(7)) ** 0.5 for row in points)
    assert scale(points) == pytest.approx(distances[150], rel=1e-12)
    assert own_scale(Vectors.check(points), "cosine") == 1.0


@pytest.mark.parametrize("unit", [1e-38, 1e-12, 3.0, 1e12, 1e37])
def test_it_follows_the_unit(unit):
    assert scale(unit * POINTS) == pytest.approx(unit * scale(POINTS), rel=1e-6)
    values = prepare(Vectors.check(unit * POINTS), "euclidean").values
    assert np.allclose(values, prepare(Vectors.check(POINTS), "euclidean").values, rtol=1e-5)


def test_neither_order_nor_outliers_move_it():
    assert scale(np.random.default_rng(1).permutation(POINTS)) == scale(POINTS)
    wild = POINTS.copy()
    wild[:30] *= 1e9
    assert scale(wild) == pytest.approx(scale(POINTS), rel=0.3)


def test_copies():
    mostly = np.concatenate([np.repeat(POINTS[:1], 10, axis=0), POINTS[1:2], POINTS[2:3]]).astype(np.float32)
    distances = np.linalg.norm(mostly[10:].astype(float) - mostly[0], axis=1)
    assert scale(mostly) == pytest.approx(distances.mean())
    assert scale(POINTS[:1]) == pytest.approx(np.linalg.norm(POINTS[0]))  # nothing but a length
    assert scale(np.repeat(POINTS[:1], 5, axis=0)) == pytest.approx(np.linalg.norm(POINTS[0]))
    assert scale(np.zeros((4, 3))) == 1.0
    assert own_scale(Vectors(np.zeros((0, 3), np.float32)), "euclidean") == 1.0


def test_a_sample_tells_it_where_there_are_many():
    many = np.random.default_rng(2).normal(size=(20_001, 4))
    assert scale(many) == pytest.approx(scale(many[:20_000]), rel=0.05)
    assert scale(many) == scale(many[::10])


def test_what_is_in_scale_is_not_copied():
    vectors = Vectors.check(POINTS)
    assert in_scale(vectors, 1.0) is vectors
    scaled = in_scale(vectors, 2.0)
    assert in_scale(scaled, 2.0) is scaled
    assert (in_scale(scaled, 4.0).values == vectors.values / 4).all()
    mine = np.array([[1.0, 0], [-1, 0]], np.float32)  # its scale is 1
    assert not np.shares_memory(prepare(Vectors.check(mine), "euclidean").values, mine)
