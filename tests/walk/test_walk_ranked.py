"""Rows of ids that end in -1: what is appended, and what is not."""

from __future__ import annotations

import numpy as np

from foldwalk.walk.ranked import append_missing, append_unlisted, places_in_rows


def rows(*values: list[float], dtype: type = np.int32) -> np.ndarray:
    return np.array(values, dtype)


def test_append_missing_fills_with_what_is_not_listed():
    ids, values = rows([4, -1, -1], [1, 2, 3]), rows([0.9, 0, 0], [3, 2, 1], dtype=np.float32)
    append_missing(ids, values, rows([4, -1, 7], [8, 9, 4]), rows([1, 2, 0.5], [6, 5, 4], dtype=np.float32))
    assert ids.tolist() == [[4, 7, -1], [1, 2, 3]]
    assert values[0].tolist() == np.float32([0.9, 0.5, 0]).tolist()
    assert values[1].tolist() == [3, 2, 1]


def test_append_unlisted_goes_by_id_and_passes_over_the_row_itself():
    ids, values = rows([2, -1, -1]), np.ones((1, 3), np.float32)
    append_unlisted(ids, values, np.array([0]), 5)
    assert ids.tolist() == [[2, 1, 3]]
    assert values.tolist() == [[1, -1, -1]]


def test_a_place_is_behind_what_is_larger():
    stored = rows([5, 3, 1], [9, 9, -np.inf], dtype=np.float32)
    found = places_in_rows(stored, rows([0, 0, 1, -1]), rows([4, 3, 9, 2], dtype=np.float32))
    assert found.tolist() == [[2, 2, 1, 0]]
