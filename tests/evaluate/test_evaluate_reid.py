"""Re-identification: by hand, against a loop, and what it refuses."""

from __future__ import annotations

import evaluate_naive as naive
import numpy as np
import pytest

from foldwalk.core import BadInput
from foldwalk.evaluate import ReID


def test_by_hand() -> None:
    #              same camera, junk, distractor, right, wrong, right
    gallery_ids, cameras = [5, -1, 0, 5, 6, 5], [1, 2, 2, 2, 2, 3]
    # The second query has no other camera.
    protocol = ReID([5, 6], [1, 2], gallery_ids, cameras, distractors=[0])
    answers = naive.ranking([[0, 1, 2, 3, 4, 5], [4, 0, 1, 2, 3, 5]])
    judgement = protocol.judge(answers)
    assert judgement.relevant.tolist() == [[False, False, False, True, False, True], [False] * 6]
    assert judgement.ignored.tolist()[0] == [True, True, False, False, False, False]
    assert judgement.ignored.tolist()[1] == [True, False, True, False, False, False]
    assert judgement.positives.tolist() == [2, 0]
    assert protocol.evaluate(answers) == pytest.approx(
        {"mAP": (1 / 2 + 2 / 4) / 2, "mINP": 2 / 4, "CMC@1": 0.0, "CMC@5": 1.0, "CMC@10": 1.0}
    )


@pytest.mark.parametrize("top", [10, 80])
@pytest.mark.parametrize("seed", range(4))
def test_equal_to_the_loop(seed: int, top: int) -> None:
    rng = np.random.default_rng(seed)
    query_ids, gallery_ids = rng.integers(-1, 12, 30), rng.integers(-1, 10, 80)
    query_cameras, gallery_cameras = rng.integers(0, 4, 30), rng.integers(0, 5, 80)
    answers = naive.random_ranking(rng, 30, 80, top)
    cases = []
    for row, identity, camera in zip(answers.ids, query_ids, query_cameras, strict=True):
        relevant, ignored = set(), set()
        for item in range(80):
            if gallery_ids[item] == -1:
                ignored.add(item)
            elif gallery_ids[item] != 0 and gallery_ids[item] == identity:
                (ignored if gallery_cameras[item] == camera else relevant).add(item)
        if relevant:
            cases.append((naive.without(row, ignored), relevant))
    assert 0 < len(cases) < 30
    expected = {
        "mAP": np.mean([naive.rectangle_ap(*case) for case in cases]),
        "mINP": np.mean([naive.inp(*case) for case in cases]),
        **{f"CMC@{k}": np.mean([naive.recall(*case, k) for case in cases]) for k in (1, 5, 10)},
    }
    sides = query_ids, query_cameras, gallery_ids, gallery_cameras
    found = ReID(*sides, distractors=[0]).evaluate(answers)
    assert found == pytest.approx(expected)
    trapezoid = ReID(*sides, distractors=[0], trapezoid=True).evaluate(answers)
    assert trapezoid["mAP"] == pytest.approx(np.mean([naive.trapezoid_ap(*case) for case in cases]))
    assert trapezoid | {"mAP": found["mAP"]} == found
    cameras_as_text = ReID(
        query_ids, query_cameras.astype(str), gallery_ids, gallery_cameras.astype(str), distractors=[0]
    ).evaluate(answers)
    assert cameras_as_text == found


def test_identity_0_is_an_identity_unless_it_is_said_to_be_a_distractor() -> None:
    sides = [0, 1], [1, 1], [0, 1, 2], [2, 2, 2]
    answers = naive.ranking([[0, 1, 2], [0, 1, 2]])
    assert ReID(*sides).per_query(answers)["mAP"].tolist() == [1.0, 0.5]
    assert np.isnan(ReID(*sides, distractors=[0]).per_query(answers)["mAP"]).tolist() == [True, False]
    assert ReID(*sides, junk=[0]).per_query(answers)["mAP"][1] == 1.0
    with pytest.raises(BadInput, match="identity 0 is junk or a distractor"):
        ReID(*sides, junk=[0], distractors=[0])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ReID(["a"], [0], ["a"], [1]), "whole numbers"),
        (lambda: ReID([1], [0, 1], [1], [1]), "one camera per identity"),
        (lambda: ReID([1], [0], [1, 2], [1]), "one camera per identity"),
        (lambda: ReID([1], [0], [1], ["c1"]), "both have whole numbers or both have text"),
        (lambda: ReID([1], [0], [1], [1]).evaluate(naive.ranking([[1]])), "id 1"),
        (lambda: ReID([1], [0], [1], [1]).evaluate(naive.ranking([[0], [0]])), "2 rows"),
        (
            lambda: ReID([0], [0], [0], [1], distractors=[0]).evaluate(naive.ranking([[0]])),
            "no query has a relevant item",
        ),
    ],
)
def test_bad_input_is_refused(make: object, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        make()  # type: ignore[operator]
