"""The metrics of rankings on cases computed by hand, and against loops on random ones."""

from __future__ import annotations

from collections.abc import Callable

import evaluate_naive as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldwalk.evaluate import Hits, Judgement
from foldwalk.evaluate import metrics as m


def hits_of(relevant: str, positives: int) -> Hits:
    """One query: "+" right, "-" wrong, "o" ignored."""
    marks = np.array([list(relevant)])
    return Judgement(marks == "+", marks == "o", np.array([positives])).hits()


def test_ranks_pass_over_ignored_answers() -> None:
    hits = hits_of("o-+o+-o+", 3)
    assert hits.rank.tolist() == [2, 3, 5]
    assert hits.order.tolist() == [1, 2, 3]
    assert hits.last_rank().tolist() == [5]


def test_each_query_has_its_own_ranks_orders_and_sums() -> None:
    relevant = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 1]], dtype=bool)
    hits = Judgement(relevant, np.zeros_like(relevant), np.array([2, 1, 3])).hits()
    assert hits.query.tolist() == [0, 0, 2, 2]
    assert hits.rank.tolist() == [1, 3, 2, 3]
    assert hits.order.tolist() == [1, 2, 1, 2]
    assert hits.total(np.array([0.5, 1, 2, 4])).tolist() == [1.5, 0, 6]
    assert hits.last_rank().tolist() == [3, np.inf, np.inf]


@pytest.mark.parametrize(
    ("metric", "marks", "positives", "expected"),
    [
        (m.average_precision, "+-+", 2, (1 / 1 + 2 / 3) / 2),
        (m.average_precision, "+-+", 4, (1 / 1 + 2 / 3) / 4),  # cut short: two were never found
        (m.average_precision, "o+-o+", 2, (1 / 1 + 2 / 3) / 2),
        (m.average_precision, "---", 2, 0.0),
        (lambda h: m.average_precision(h, trapezoid=True), "+-+", 2, ((1 + 1) / 2 + (1 / 2 + 2 / 3) / 2) / 2),
        (lambda h: m.average_precision(h, trapezoid=True), "-+", 1, (0 + 1 / 2) / 2),
        (lambda h: m.average_precision(h, trapezoid=True), "o-o+-", 3, (0 + 1 / 2) / 2 / 3),
        (m.average_precision_at_r, "+-++", 3, (1 / 1 + 2 / 3) / 3),
        (m.average_precision_at_r, "--++", 2, 0.0),
        (lambda h: m.recall_at(h, 1), "-++", 2, 0.0),
        (lambda h: m.recall_at(h, 2), "-++", 2, 1.0),
        (lambda h: m.recall_at(h, 1), "o++", 2, 1.0),
        (lambda h: m.precision_at(h, 5), "+-+--", 2, 2 / 3),  # the last positive has rank 3
        (lambda h: m.precision_at(h, 5), "+-+--", 3, 2 / 5),  # a third one is further down
        (lambda h: m.precision_at(h, 5), "oo+", 1, 1.0),
        (lambda h: m.precision_at(h, 1), "-+", 1, 0.0),
        (m.inverse_negative_penalty, "+--+", 2, 2 / 4),
        (m.inverse_negative_penalty, "+oo+", 2, 1.0),
        (m.inverse_negative_penalty, "+--+", 3, 0.0),
        (lambda h: m.bullseye(h, 3), "+-++", 4, 2 / 5),
        (lambda h: m.bullseye(h, 3, query_counted=True), "+-++", 4, (1 + 1) / 5),
    ],
)
def test_by_hand(metric: Callable[[Hits], np.ndarray], marks: str, positives: int, expected: float) -> None:
    assert metric(hits_of(marks, positives)).tolist() == [pytest.approx(expected, abs=1e-12)]


@pytest.mark.parametrize(
    "metric",
    [
        m.average_precision,
        m.average_precision_at_r,
        m.inverse_negative_penalty,
        lambda h: m.recall_at(h, 1),
        lambda h: m.precision_at(h, 5),
        lambda h: m.bullseye(h, 5),
    ],
)
def test_a_query_without_positives_has_no_figure(metric: Callable[[Hits], np.ndarray]) -> None:
    relevant = np.array([[False, False], [True, True]])
    values = metric(Judgement(relevant, np.zeros_like(relevant), np.array([0, 2])).hits())
    assert np.isnan(values).tolist() == [True, False]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), gallery=st.integers(4, 40), cut=st.floats(0.1, 1), k=st.integers(1, 15)
)
def test_equal_to_the_loop(seed: int, gallery: int, cut: float, k: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = rng.choice(["right", "wrong", "ignored"], size=(5, gallery), p=[0.3, 0.5, 0.2])
    kinds[:, 0] = "right"
    ids = naive.random_ranking(rng, 5, gallery, max(1, round(cut * gallery))).ids
    drawn = np.take_along_axis(kinds, ids, axis=1)
    hits = Judgement(drawn == "right", drawn == "ignored", (kinds == "right").sum(axis=1)).hits()

    cases = []
    for q in range(5):
        answers = naive.without(ids[q], set(np.flatnonzero(kinds[q] == "ignored")))
        cases.append((answers, {int(i) for i in np.flatnonzero(kinds[q] == "right")}))
    for found, loop in (
        (m.average_precision(hits), naive.rectangle_ap),
        (m.average_precision(hits, trapezoid=True), naive.trapezoid_ap),
        (m.average_precision_at_r(hits), naive.ap_at_r),
        (m.inverse_negative_penalty(hits), naive.inp),
        (m.recall_at(hits, k), lambda a, r: naive.recall(a, r, k)),
        (m.precision_at(hits, k), lambda a, r: naive.precision(a, r, k)),
        (m.bullseye(hits, k), lambda a, r: len(r.intersection(a[:k])) / (len(r) + 1)),
        (
            m.bullseye(hits, k, query_counted=True),
            lambda a, r: (1 + len(r.intersection(a[: k - 1]))) / (len(r) + 1),
        ),
    ):
        np.testing.assert_allclose(found, [loop(*case) for case in cases], atol=1e-12)
