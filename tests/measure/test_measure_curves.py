"""Interpolated precision: by hand, and against the definition."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk.evaluate import Judgement
from foldwalk.measure.curves import interpolated_precision


def judgement(relevant, ignored, positives) -> Judgement:
    return Judgement(np.array(relevant, bool), np.array(ignored, bool), np.array(positives))


def test_by_hand() -> None:
    judged = judgement(
        [[1, 0, 1], [0, 1, 0], [0, 1, 0], [0, 0, 0]],
        [[0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]],
        [2, 2, 1, 0],
    )
    # Query 0: precision 1 at recall 1/2 and 2/3 at recall 1. Query 1: 1/2 at recall 1/2, and the other is
    # never found. Query 2: the first is ignored, so its hit ranks first. Query 3, no positives: left out.
    expected = [(1 + 1 / 2 + 1) / 3] * 6 + [(2 / 3 + 0 + 1) / 3] * 5
    np.testing.assert_allclose(interpolated_precision(judged, points=11), expected)


def test_precision_that_rises_later_counts_from_the_start() -> None:
    judged = judgement([[0, 1, 1, 1]], np.zeros((1, 4)), [3])
    # Precision 1/2, 2/3, 3/4 at the hits: the best at or beyond each recall is 3/4.
    np.testing.assert_allclose(interpolated_precision(judged, points=3), [0.75, 0.75, 0.75])


@pytest.mark.parametrize("seed", range(5))
def test_against_a_loop_over_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ignored = rng.random((6, 30)) < 0.2
    relevant = (rng.random((6, 30)) < 0.3) & ~ignored
    positives = relevant.sum(axis=1) + rng.integers(0, 3, 6)
    expected = np.zeros(101)
    for query in range(6):
        points, hits, rank = [], 0, 0
        for is_relevant, is_ignored in zip(relevant[query], ignored[query], strict=True):
            if is_ignored:
                continue
            rank += 1
            hits += is_relevant
            points.append((100 * int(hits), hits / rank))
        for i in range(101):
            at_least = [p for recall, p in points if recall >= i * positives[query] and recall > 0]
            expected[i] += max(at_least, default=0.0) / 6
    np.testing.assert_allclose(interpolated_precision(judgement(relevant, ignored, positives)), expected)


def test_a_ranking_without_any_positive_is_flat_zero() -> None:
    judged = judgement([[0, 0]], [[0, 0]], [0])
    assert interpolated_precision(judged).tolist() == [0.0] * 101


def test_recalls_that_are_not_exact_in_binary() -> None:
    """0.07 of 100 positives is 7.000000000000001 in floating point, but the seventh hit reaches it."""
    relevant = np.zeros((1, 200), bool)
    relevant[0, :7] = relevant[0, 107:] = True
    curve = interpolated_precision(judgement(relevant, np.zeros((1, 200)), [100]))
    assert curve[7] == 1
    assert curve[8] == 0.5
