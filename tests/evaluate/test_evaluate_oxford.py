"""Oxford and its revision: by hand, against loops, and on the published ground truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import evaluate_naive as naive
import numpy as np
import pytest

from foldwalk.core import BadInput, UnknownName
from foldwalk.core.types import IntArray
from foldwalk.evaluate import Oxford, Revisited
from foldwalk.evaluate.protocols import base

SETTINGS = {
    "easy": (["easy"], ["junk", "hard"]),
    "medium": (["easy", "hard"], ["junk"]),
    "hard": (["hard"], ["junk", "easy"]),
}


@pytest.fixture(scope="module", params=["gnd_roxford5k.json", "gnd_rparis6k.json"])
def published(request: pytest.FixtureRequest, data_root: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((data_root / request.param).read_text())
    return content


def loop_figures(ids: IntArray, ground_truth: list[dict[str, Any]]) -> dict[str, float]:
    figures = {}
    for setting, (good, bad) in SETTINGS.items():
        cases = []
        for row, entry in zip(ids, ground_truth, strict=True):
            relevant = {i for kind in good for i in entry[kind]}
            if relevant:
                cases.append((naive.without(row, {i for kind in bad for i in entry[kind]}), relevant))
        figures[f"mAP_{setting}"] = float(np.mean([evaluator_ap(*case) for case in cases]))
        for k in (1, 5, 10):
            figures[f"mP@{k}_{setting}"] = float(np.mean([naive.precision(*case, k) for case in cases]))
    return figures


def evaluator_ap(answers: list[int], relevant: set[int]) -> float:
    """Trapezoids between the precision before and after each hit, as in the revised benchmark."""
    found, total = 0, 0.0
    for before, answer in enumerate(answers):
        if answer in relevant:
            precision_before = found / before if before else 1.0
            found += 1
            total += (precision_before + found / (before + 1)) / 2
    return total / len(relevant)


def test_oxford_by_hand() -> None:
    protocol = Oxford([[3, 4], [0], []], [[1], [], [2]])
    answers = naive.ranking([[1, 3, 0, 4, 2], [1, 0, 2, 3, 4], [0, 1, 2, 3, 4]])
    first = ((1 + 1) / 2 + (1 / 2 + 2 / 3) / 2) / 2
    second = (0 + 1 / 2) / 2
    assert protocol.evaluate(answers) == {"mAP": pytest.approx((first + second) / 2)}
    judgement = protocol.judge(answers)
    assert judgement.relevant[0].tolist() == [False, True, False, True, False]
    assert judgement.ignored[0].tolist() == [True, False, False, False, False]
    assert judgement.positives.tolist() == [2, 1, 0]


def test_ids_beyond_the_largest_listed_one_are_plain_wrong_answers() -> None:
    protocol = Oxford([[0]], [[2]])
    judgement = protocol.judge(naive.ranking([[3, 900_000, 2, 0]]))
    assert judgement.relevant.tolist() == [[False, False, False, True]]
    assert judgement.ignored.tolist() == [[False, False, True, False]]


@pytest.mark.parametrize("top", [7, 30])
def test_oxford_equals_the_loop(top: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "CELLS_AT_ONCE", 100)  # three queries at a time
    rng = np.random.default_rng(1)
    drawn = [rng.permutation(30) for _ in range(20)]
    positives, junk = [d[: rng.integers(1, 8)] for d in drawn], [d[10 : rng.integers(10, 16)] for d in drawn]
    answers = naive.random_ranking(rng, 20, 30, top)
    expected = np.mean(
        [
            naive.trapezoid_ap(naive.without(row, set(bad.tolist())), set(good.tolist()))
            for row, good, bad in zip(answers.ids, positives, junk, strict=True)
        ]
    )
    assert Oxford(positives, junk).evaluate(answers)["mAP"] == pytest.approx(expected)


def test_revisited_by_hand() -> None:
    protocol = Revisited([{"easy": [0], "hard": [1, 2], "junk": [3], "bbx": [0, 0, 9, 9]}])
    figures = protocol.evaluate(naive.ranking([[3, 1, 4, 0, 5, 2]]))
    assert (protocol.main, protocol.n_queries) == ("mAP_medium", 1)
    # Ranks of the positives once the ignored are out: easy 4 0 5, medium 1 4 0 5 2, hard 1 4 5 2.
    assert figures == pytest.approx(
        {
            "mAP_easy": (0 + 1 / 2) / 2,
            "mP@1_easy": 0.0,
            "mP@5_easy": 1 / 2,
            "mP@10_easy": 1 / 2,
            "mAP_medium": (1 + (1 / 2 + 2 / 3) / 2 + (2 / 4 + 3 / 5) / 2) / 3,
            "mP@1_medium": 1.0,
            "mP@5_medium": 3 / 5,
            "mP@10_medium": 3 / 5,
            "mAP_hard": (1 + (1 / 3 + 2 / 4) / 2) / 2,
            "mP@1_hard": 1.0,
            "mP@5_hard": 2 / 4,
            "mP@10_hard": 2 / 4,
        }
    )


def test_the_judgement_of_a_setting_can_be_asked_for() -> None:
    protocol = Revisited([{"easy": [0], "hard": [1], "junk": [2]}])
    answers = naive.ranking([[0, 1, 2, 3]])
    assert protocol.judge(answers).relevant.tolist() == [[True, True, False, False]]
    assert protocol.judge(answers, "hard").relevant.tolist() == [[False, True, False, False]]
    assert protocol.judge(answers, "hard").ignored.tolist() == [[True, False, True, False]]
    with pytest.raises(UnknownName, match="easy, medium or hard"):
        protocol.judge(answers, "harder")


def test_a_perfect_ranking_of_the_published_queries_is_perfect(published: dict[str, Any]) -> None:
    gallery = len(published["imlist"])
    rows = []
    for entry in published["gnd"]:
        first = [*entry["junk"], *entry["hard"], *entry["easy"]]
        rows.append([*first, *np.setdiff1d(np.arange(gallery), first)])
    figures = Revisited(published["gnd"], gallery_size=gallery).evaluate(naive.ranking(rows))
    assert len(figures) == 12
    assert figures == pytest.approx(dict.fromkeys(figures, 1.0))


@pytest.mark.parametrize("top", [300, None])
def test_random_rankings_of_the_published_queries_equal_the_loop(
    published: dict[str, Any], top: int | None
) -> None:
    gallery = len(published["imlist"])
    rng = np.random.default_rng(2)
    rows = []
    for entry in published["gnd"]:
        distances = rng.random(gallery)
        # Listed images move to the front, the easy ones most: figures then differ between the settings.
        for kind, share in (("easy", 0.05), ("hard", 0.1), ("junk", 0.1)):
            distances[entry[kind]] *= share
        rows.append(np.argsort(distances)[:top])
    figures = Revisited(published["gnd"]).evaluate(naive.ranking(rows))
    assert figures == pytest.approx(loop_figures(np.asarray(rows), published["gnd"]))
    assert 0.01 < min(figures.values()) < max(figures.values()) < 0.98


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Oxford([[0]], []), "one list of ids per query"),
        (lambda: Oxford([], []), "at least one query"),
        (lambda: Oxford([[0, -1]], [[]]), "positives of query 0"),
        (lambda: Oxford([[0.5]], [[]]), "positives of query 0"),
        (lambda: Oxford([[0], [1, 1]], [[], []]), "positives of query 1: an id is listed twice"),
        (lambda: Oxford([[0]], [[4]], gallery_size=4), "junk of query 0: the id 4 is outside"),
        (lambda: Oxford([[0, 3]], [[3]]), "query 0: the id 3 stands in two lists"),
        (lambda: Oxford([[0]], [[]]).evaluate(naive.ranking([[0], [0]])), "2 rows.*1 queries"),
        (lambda: Oxford([[0]], [[]], gallery_size=2).evaluate(naive.ranking([[2]])), "id 2.*0 to 1"),
        (lambda: Oxford([[]], [[0]]).evaluate(naive.ranking([[0]])), "no query has a relevant item"),
        (lambda: Revisited([{"easy": [0], "hard": []}]), 'query 0 has no list "junk"'),
        (lambda: Revisited([{"easy": [0], "hard": [0], "junk": []}]), "the id 0 stands in two lists"),
        (lambda: Revisited([{"easy": ["x"], "hard": [], "junk": []}]), '"easy" of query 0'),
    ],
)
def test_bad_ground_truth_and_rankings_are_refused(make: object, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        make()  # type: ignore[operator]
