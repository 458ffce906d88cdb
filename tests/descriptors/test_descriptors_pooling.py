"""Pooling against loops written from the definitions, and regions against the paper's rules."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk.descriptors.pooling import gap, gem, mac, region_vectors, regions_of, rmac, unit


@pytest.fixture
def maps() -> np.ndarray:
    return np.maximum(np.random.default_rng(0).normal(size=(2, 5, 6, 9)), 0).astype(np.float32)


def test_gap_mac_gem_by_loops(maps):
    for n in range(2):
        for c in range(5):
            values = [float(maps[n, c, y, x]) for y in range(6) for x in range(9)]
            assert gap(maps)[n, c] == pytest.approx(sum(values) / 54, rel=1e-5)
            assert mac(maps)[n, c] == max(values)
            cubes = sum(value**3 for value in values) / 54
            assert gem(maps)[n, c] == pytest.approx(cubes ** (1 / 3), rel=1e-5)


def test_gem_lies_between_its_limits(maps):
    np.testing.assert_allclose(gem(maps, p=1), gap(maps), rtol=1e-5)
    np.testing.assert_allclose(gem(maps.astype(np.float64), p=200), mac(maps), rtol=0.03)
    assert (gem(maps) > gap(maps)).all()
    assert (gem(maps) < mac(maps)).all()


def test_rmac_by_loops(maps):
    for n in range(2):
        total = np.zeros(5)
        for top, left, side in regions_of(6, 9):
            vector = np.zeros(5)
            for c in range(5):
                vector[c] = max(
                    float(maps[n, c, y, x]) for y in range(top, top + side) for x in range(left, left + side)
                )
            total += vector / np.sqrt((vector**2).sum())
        np.testing.assert_allclose(rmac(maps)[n], total / np.sqrt((total**2).sum()), rtol=1e-5)


def test_rmac_whitens_each_region(maps):
    def turned(vectors):
        assert vectors.shape == (2 * len(regions_of(6, 9)), 5)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
        return unit(vectors[:, [4, 2]] - 0.3)

    expected = unit(turned(region_vectors(maps).reshape(-1, 5)).reshape(2, -1, 2).sum(axis=1))
    np.testing.assert_allclose(rmac(maps, turned), expected, rtol=1e-5)


def test_regions_of_a_square_map():
    # Sides 2 * 7 / (l + 1) = 7, 4, 3 and l x l squares of each.
    regions = regions_of(7, 7)
    assert regions[0] == (0, 0, 7)
    assert regions[1:5] == [(0, 0, 4), (0, 3, 4), (3, 0, 4), (3, 3, 4)]
    assert regions[5:] == [(y, x, 3) for y in (0, 2, 4) for x in (0, 2, 4)]
    assert regions_of(7, 7, levels=1) == [(0, 0, 7)]


def test_regions_of_a_wide_map():
    # 6 x 9: two squares of side 6 overlap by 50 %, three by 75 %: two it is. Then 2 x 3 and 3 x 4.
    regions = regions_of(6, 9)
    assert regions[:2] == [(0, 0, 6), (0, 3, 6)]
    assert len(regions) == 2 + 2 * 3 + 3 * 4
    assert {r.side for r in regions[2:8]} == {4}
    assert {r.side for r in regions[8:]} == {3}


@pytest.mark.parametrize(
    ("height", "width"), [(7, 7), (5, 20), (20, 5), (1, 1), (1, 9), (2, 3), (24, 32), (3, 100)]
)
def test_regions_cover_the_map_and_stay_inside(height, width):
    regions = regions_of(height, width)
    seen = np.zeros((height, width), bool)
    for top, left, side in regions:
        assert side >= 1
        assert 0 <= top <= height - side
        assert 0 <= left <= width - side
        seen[top : top + side, left : left + side] = True
    assert seen.all()
    turned = {(r.left, r.top, r.side) for r in regions_of(width, height)}
    assert turned == set(regions)


@pytest.mark.parametrize("width", range(11, 60))
def test_overlap_is_as_near_to_40_percent_as_can_be(width):
    first = [r for r in regions_of(10, width) if r.side == 10]

    def off(count):
        return abs((1 - (width - 10) / (count - 1) / 10) - 0.4)

    assert off(len(first)) == min(off(count) for count in range(2, 30))


def test_unit():
    np.testing.assert_allclose(unit(np.array([[3, 4], [0, 0]], np.float32)), [[0.6, 0.8], [0, 0]])
