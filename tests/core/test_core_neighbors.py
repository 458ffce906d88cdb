"""Neighbours handed in from elsewhere, their first k, and their distances."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk.core import BadInput, Neighbors


def refusal(ids, similarities, n) -> str:
    with pytest.raises(BadInput) as caught:
        Neighbors.check(ids, similarities, n)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_sorts_rows_by_similarity_then_id_and_puts_absent_ones_last():
    ids = [[3, 1, 2, -1], [-1, 3, 0, 2], [-1, -1, -1, 0], [2, 1, 0, -1]]
    similarities = [[0.5, 0.9, 0.5, 7], [9, 0.1, 0.1, 0.1], [5, 5, 5, -0.5], [-1, -0.5, -0.5, 0]]
    checked = Neighbors.check(ids, similarities, 4, "euclidean")
    assert checked.ids.tolist() == [[1, 2, 3, -1], [0, 2, 3, -1], [0, -1, -1, -1], [0, 1, 2, -1]]
    expected = [[0.9, 0.5, 0.5, 0], [0.1, 0.1, 0.1, 0], [-0.5, 0, 0, 0], [-0.5, -0.5, -1, 0]]
    assert np.array_equal(checked.similarities, np.array(expected, np.float32))
    assert (checked.ids.dtype, checked.similarities.dtype) == (np.int32, np.float32)
    assert (checked.metric, checked.how, len(checked), checked.k) == ("euclidean", "given", 4, 4)
    assert np.isnan(checked.recall)


def test_what_stands_beside_an_absent_neighbour_does_not_matter():
    checked = Neighbors.check([[1, -1], [-1, 0]], [[0.5, -np.inf], [np.nan, 0.5]], 2)
    assert checked.ids.tolist() == [[1, -1], [0, -1]]
    assert checked.similarities.tolist() == [[0.5, 0], [0.5, 0]]


def test_takes_rows_without_any_neighbour():
    assert Neighbors.check(np.zeros((3, 0)), np.zeros((3, 0)), 3).k == 0


@pytest.mark.parametrize(
    ("ids", "similarities", "n", "words"),
    [
        ([1, 0], [0.5, 0.5], 2, ["2-D", "(2,)"]),
        ([[1], [0]], [[0.5, 0.5], [0.5, 0.5]], 2, ["(2, 1)", "(2, 2)"]),
        ([[1], [0]], [[0.5], [0.5]], 3, ["2 rows", "3 items"]),
        ([[2], [0]], [[0.5], [0.5]], 2, ["-1 (none) and 1"]),
        ([[-2], [0]], [[0.5], [0.5]], 2, ["-1 (none) and 1"]),
        ([[2**32 + 1], [0]], [[0.5], [0.5]], 2, ["-1 (none) and 1"]),
        ([[2**70], [0]], [[0.5], [0.5]], 2, ["whole numbers"]),
        ([[1.5], [0]], [[0.5], [0.5]], 2, ["whole numbers"]),
        ([[np.nan], [0]], [[0.5], [0.5]], 2, ["whole numbers"]),
        ([["one"], ["two"]], [[0.5], [0.5]], 2, ["whole numbers"]),
        ([[1], [0]], [["near"], ["far"]], 2, ["cannot be read"]),
        ([[1], [0, 1]], [[0.5], [0.5]], 2, ["cannot be read"]),
        ([[1], [0]], [[0.5], [1j]], 2, ["cannot be read"]),
        ([[1], [0]], [[0.5], [np.nan]], 2, ["row 1", "not finite"]),
        ([[1], [0]], [[0.5], [1e300]], 2, ["row 1", "not finite"]),
        ([[1], [1]], [[0.5], [0.5]], 2, ["row 1", "its own"]),
        ([[1, 2, 1], [0, 2, -1], [0, 1, -1]], np.ones((3, 3)), 3, ["row 0", "twice"]),
    ],
)
def test_refuses_with_the_reason(ids, similarities, n, words):
    message = refusal(ids, similarities, n)
    assert message.startswith("neighbors")
    assert all(word in message for word in words)


def test_64_bit_ids_do_not_wrap_around():
    """2**32 + 1 is 1 in 32 bits: it must be refused, not taken for item 1."""
    refusal(np.array([[2**32 + 1], [0]], np.int64), [[0.5], [0.5]], 2)
    refusal(np.array([[2**64 - 1], [0]], np.uint64), [[0.5], [0.5]], 2)


def test_several_absent_neighbours_are_not_one_id_twice():
    assert Neighbors.check([[-1, -1], [0, -1]], np.ones((2, 2)), 2).ids.tolist() == [[-1, -1], [0, -1]]


def test_first():
    known = Neighbors(
        np.array([[1, 2], [0, 2], [1, 0]], np.int32), np.ones((3, 2), np.float32), "cosine", 0.9, "x"
    )
    one = known.first(1)
    assert one.ids.tolist() == [[1], [0], [1]]
    assert one.ids.flags.c_contiguous
    assert (one.k, one.metric, one.recall, one.how) == (1, "cosine", 0.9, "x")
    assert known.first(2) is known
    assert known.first(0).ids.shape == (3, 0)
    with pytest.raises(BadInput, match="3 neighbours were asked for, but only 2 are known"):
        known.first(3)


def test_squared_distances_of_unit_vectors():
    x = np.random.default_rng(0).normal(size=(6, 5))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    ids = np.array([[j for j in range(6) if j != i] for i in range(6)], np.int32)
    similarities = np.array([[x[i] @ x[j] for j in row] for i, row in enumerate(ids)], np.float32)
    expected = [[((x[i] - x[j]) ** 2).sum() for j in row] for i, row in enumerate(ids)]
    squared = Neighbors(ids, similarities).squared_distances()
    assert squared.dtype == np.float32
    assert np.allclose(squared, expected, atol=1e-6)


def test_squared_distances_of_euclidean_similarities():
    distances = np.array([[0, 0.5, 1, 1000]], np.float32)
    known = Neighbors(
        np.array([[1, 2, 3, 4]], np.int32), (1 / (1 + distances)).astype(np.float32), "euclidean"
    )
    assert np.allclose(known.squared_distances(), distances**2, rtol=1e-5)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_absent_neighbours_are_infinitely_far(metric):
    known = Neighbors(np.array([[1, -1]], np.int32), np.array([[1, 0]], np.float32), metric)
    assert known.squared_distances().tolist() == [[0, np.inf]]


def test_a_cosine_above_one_by_rounding_is_no_negative_distance():
    known = Neighbors(np.array([[1]], np.int32), np.array([[1.0000001]], np.float32))
    assert known.squared_distances().tolist() == [[0]]
