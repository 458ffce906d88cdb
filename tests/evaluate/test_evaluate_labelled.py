"""Leave-one-out and query against gallery: by hand, against loops, and what they refuse."""

from __future__ import annotations

import evaluate_naive as naive
import numpy as np
import pytest

from foldwalk.core import BadInput
from foldwalk.evaluate import LeaveOneOut, QueryGallery
from foldwalk.evaluate.protocols import base


def loop_figures(
    answers: list[list[int]], relevant: list[set[int]], trapezoid: bool = False
) -> dict[str, float]:
    ap = naive.trapezoid_ap if trapezoid else naive.rectangle_ap
    cases = [case for case in zip(answers, relevant, strict=True) if case[1]]
    figures = {"mAP": np.mean([ap(*case) for case in cases])}
    for k in (1, 2, 4, 8):
        figures[f"R@{k}"] = np.mean([naive.recall(*case, k) for case in cases])
    figures["MAP@R"] = np.mean([naive.ap_at_r(*case) for case in cases])
    figures["R-precision"] = np.mean([naive.r_precision(*case) for case in cases])
    return {key: float(value) for key, value in figures.items()}


def test_leave_one_out_by_hand() -> None:
    protocol = LeaveOneOut(["a", "b", "a", "a", "single"], bullseye=2)
    answers = naive.ranking([[2, 1, 3, 4], [0, 2, 3, 4], [1, 4, 0, 3], [4, 2, 0, 1], [0, 1, 2, 3]])
    assert (protocol.name, protocol.main, protocol.n_queries) == ("leave-one-out", "mAP", 5)
    assert protocol.evaluate(answers) == pytest.approx(
        {
            "mAP": ((1 + 2 / 3) / 2 + (1 / 3 + 2 / 4) / 2 + (1 / 2 + 2 / 3) / 2) / 3,
            "R@1": 1 / 3,
            "R@2": 2 / 3,
            "R@4": 1.0,
            "R@8": 1.0,
            "MAP@R": (1 / 2 + 0 + (1 / 2) / 2) / 3,
            "R-precision": (1 / 2 + 0 + 1 / 2) / 3,
            "bullseye@2": (1 / 3 + 0 + 1 / 3) / 3,
            "bullseye@2+query": (2 / 3 + 1 / 3 + 1 / 3) / 3,
        }
    )


def test_a_query_among_its_own_answers_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, 30)
    whole = naive.random_ranking(rng, 30, 30, 30)
    left_out = naive.ranking([[i for i in row if i != q] for q, row in enumerate(whole.ids)])
    protocol = LeaveOneOut(labels, bullseye=7)
    assert protocol.evaluate(whole) == protocol.evaluate(left_out)
    judgement = protocol.judge(whole)
    assert (judgement.ignored == (whole.ids == np.arange(30)[:, None])).all()
    assert not (judgement.ignored & judgement.relevant).any()


@pytest.mark.parametrize("top", [1, 5, 39])
@pytest.mark.parametrize("seed", range(4))
def test_leave_one_out_equals_the_loop(seed: int, top: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 12, 40)
    rows = [[i for i in rng.permutation(40) if i != q][:top] for q in range(40)]
    relevant = [{i for i in range(40) if labels[i] == labels[q] and i != q} for q in range(40)]
    assert LeaveOneOut(labels).evaluate(naive.ranking(rows)) == pytest.approx(loop_figures(rows, relevant))


@pytest.mark.parametrize("top", [3, 39])
def test_the_query_may_be_counted_as_found_first(top: int) -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 9, 40)
    rows = [[i for i in rng.permutation(40) if i != q][:top] for q in range(40)]
    classes = [{i for i in range(40) if labels[i] == labels[q]} for q in range(40)]
    found = LeaveOneOut(labels, query_counted=True).evaluate(naive.ranking(rows))
    expected = [
        naive.rectangle_ap([q, *row], classes[q]) for q, row in enumerate(rows) if len(classes[q]) > 1
    ]
    assert found["mAP+query"] == pytest.approx(np.mean(expected))
    assert "mAP+query" not in LeaveOneOut(labels).evaluate(naive.ranking(rows))


def test_recall_is_taken_where_it_is_asked_for() -> None:
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 30, 90)
    rows = naive.random_ranking(rng, 30, 60, 60)
    cases = [(row, {i for i in range(60) if labels[30 + i] == labels[q]}) for q, row in enumerate(rows.ids)]
    cases = [(list(row), relevant) for row, relevant in cases if relevant]
    found = QueryGallery(labels[:30], labels[30:], recall_at=(1, 10, 20)).evaluate(rows)
    for k in (1, 10, 20):
        assert found[f"R@{k}"] == pytest.approx(np.mean([naive.recall(*case, k) for case in cases]))
    assert [key for key in found if key.startswith("R@")] == ["R@1", "R@10", "R@20"]
    assert "R@1000" in LeaveOneOut(labels[:60], recall_at=(1000,)).evaluate(
        naive.random_ranking(rng, 60, 60, 60)
    )


@pytest.mark.parametrize("ranks", [(), (0,), (1, 2.5)])
def test_ranks_of_recall_are_whole_numbers(ranks: tuple[float, ...]) -> None:
    with pytest.raises(BadInput, match="recall_at"):
        LeaveOneOut([1, 1], recall_at=ranks)  # type: ignore[arg-type]


def test_query_gallery_by_hand() -> None:
    protocol = QueryGallery([7, 8, -1], [7, -1, 8, 7])
    answers = naive.ranking([[1, 0, 2, 3], [2, 0, 1, 3], [1, 0, 2, 3]])
    judgement = protocol.judge(answers)
    assert judgement.relevant.tolist() == [[False, True, False, True], [True] + [False] * 3, [False] * 4]
    assert judgement.positives.tolist() == [2, 1, 0]
    assert not judgement.ignored.any()
    figures = protocol.evaluate(answers)
    assert figures["mAP"] == pytest.approx(((1 / 2 + 2 / 4) / 2 + 1) / 2)
    assert figures["R@1"] == pytest.approx(1 / 2)
    assert list(figures) == ["mAP", "R@1", "R@2", "R@4", "R@8", "MAP@R", "R-precision"]
    trapezoid = QueryGallery([7, 8, -1], [7, -1, 8, 7], trapezoid=True).evaluate(answers)["mAP"]
    assert trapezoid == pytest.approx((((0 + 1 / 2) / 2 + (1 / 3 + 2 / 4) / 2) / 2 + 1) / 2)


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("trapezoid", [False, True])
def test_query_gallery_equals_the_loop(trapezoid: bool, as_text: bool) -> None:
    rng = np.random.default_rng(3)
    queries, gallery = rng.integers(-1, 9, 25), rng.integers(-1, 7, 60)
    answers = naive.random_ranking(rng, 25, 60, 45)
    relevant = [{i for i in range(60) if gallery[i] == label and label != -1} for label in queries]
    if as_text:
        queries, gallery = queries.astype(str), gallery.astype(str)
    found = QueryGallery(queries, gallery, trapezoid=trapezoid).evaluate(answers)
    assert found == pytest.approx(loop_figures(answers.ids.tolist(), relevant, trapezoid))


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    protocol = LeaveOneOut(rng.integers(0, 6, 50), bullseye=10)
    answers = naive.random_ranking(rng, 50, 50, 20)
    figures, judgement = protocol.evaluate(answers), protocol.judge(answers)
    monkeypatch.setattr(base, "CELLS_AT_ONCE", 70)  # three rows at a time, and a last block of two
    assert [rows.stop - rows.start for rows in protocol._blocks(answers)] == [3] * 16 + [2]
    assert protocol.evaluate(answers) == pytest.approx(figures)
    again = protocol.judge(answers)
    assert (again.relevant == judgement.relevant).all()
    assert (again.ignored == judgement.ignored).all()
    assert (again.positives == judgement.positives).all()


def test_per_query_figures_average_to_the_evaluation() -> None:
    protocol = LeaveOneOut([0, 0, 1, 1, 2])
    answers = naive.ranking([[1, 2], [0, 2], [0, 3], [0, 1], [0, 1]])
    assert protocol.per_query(answers)["mAP"].tolist() == [1, 1, 0.5, 0, pytest.approx(np.nan, nan_ok=True)]
    assert protocol.evaluate(answers)["mAP"] == 2.5 / 4


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: LeaveOneOut([0, 0, 1]).evaluate(naive.ranking([[1], [0]])), "2 rows.*3 queries"),
        (lambda: LeaveOneOut([0, 0]).judge(naive.ranking([[1], [2]])), "id 2, but the gallery.* 2 items"),
        (lambda: QueryGallery([0], [0, 1]).evaluate(naive.ranking([[5]])), "id 5, but the gallery.* 2 items"),
        (lambda: LeaveOneOut([0, 1]).evaluate(naive.ranking([[1], [0]])), "no query has a relevant item"),
        (lambda: LeaveOneOut([0.5, 1.0]), "whole numbers or text"),
        (lambda: LeaveOneOut([[0, 1]]), "shape"),
        (lambda: LeaveOneOut([]), "shape"),
        (lambda: LeaveOneOut([0, 0], bullseye=0), "bullseye must be at least 1"),
        (lambda: QueryGallery([0], ["0", "1"]), "both have whole numbers or both have text"),
    ],
)
def test_what_cannot_be_measured_is_refused(make: object, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        make()  # type: ignore[operator]
