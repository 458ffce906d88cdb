"""Single-shot re-identification: where nothing is left to chance, by hand; beside a loop; by the seed."""

from __future__ import annotations

import evaluate_naive as naive
import numpy as np
import pytest

from foldwalk.core import BadInput
from foldwalk.evaluate import SingleShot


def test_by_hand_where_every_identity_has_one_picture_of_the_other_camera() -> None:
    #                       own camera, others
    gallery_ids, cameras = [5, 6, 5, 7, -1], [1, 2, 2, 2, 2]
    protocol = SingleShot([5, 8], [1, 1], gallery_ids, cameras, repetitions=3)
    answers = naive.ranking([[0, 4, 1, 2, 3], [0, 1, 2, 3, 4]])
    judgement = protocol.judge(answers)
    assert judgement.relevant.tolist()[0] == [False, False, False, True, False]
    assert judgement.ignored.tolist()[0] == [True, True, False, False, False]
    assert judgement.positives.tolist() == [1, 0]
    assert protocol.evaluate(answers) == {"CMC@1": 0.0, "CMC@5": 1.0, "CMC@10": 1.0, "CMC@20": 1.0}


def test_each_repetition_draws_one_picture_of_each_identity_and_is_judged_as_a_loop_does() -> None:
    rng = np.random.default_rng(0)
    query_ids, gallery_ids = rng.integers(0, 12, 40), rng.integers(0, 12, 150)
    query_cameras, gallery_cameras = rng.integers(1, 3, 40), rng.integers(1, 3, 150)
    protocol = SingleShot(query_ids, query_cameras, gallery_ids, gallery_cameras, repetitions=4, seed=3)
    answers = naive.random_ranking(rng, 40, 150, 150)
    firsts, drawn = [], []
    for repetition in range(4):
        ignored = protocol.judge(answers, repetition).ignored
        for q in range(40):
            shown = answers.ids[q][~ignored[q]]
            assert sorted(gallery_ids[shown]) == list(range(12))
            assert (gallery_cameras[shown] != query_cameras[q]).all()
            firsts.append(list(gallery_ids[shown]).index(query_ids[q]))
        drawn.append(frozenset(answers.ids[0][~ignored[0]].tolist()))
        alike = np.flatnonzero(query_cameras == query_cameras[0])
        assert all(set(answers.ids[q][~ignored[q]]) == drawn[-1] for q in alike)
    assert len(set(drawn)) == 4
    for k in (1, 5, 10, 20):
        assert protocol.evaluate(answers)[f"CMC@{k}"] == pytest.approx(np.mean(np.array(firsts) < k))


def test_so_many_identities_are_drawn_and_the_seed_settles_which() -> None:
    rng = np.random.default_rng(1)
    ids, gallery_ids = np.arange(30), np.repeat(np.arange(30), 3)
    sides = ids, np.full(30, 1), gallery_ids, np.full(90, 2)
    answers = naive.random_ranking(rng, 30, 90, 90)
    protocol = SingleShot(*sides, repetitions=2, identities=10, seed=1)
    taking_part = [protocol.judge(answers, r).positives for r in range(2)]
    assert [int(part.sum()) for part in taking_part] == [10, 10]
    assert (taking_part[0] != taking_part[1]).any()
    measured = ~np.isnan(protocol.per_query(answers)["CMC@1"])
    assert (measured == (taking_part[0] + taking_part[1] > 0)).all()
    again = SingleShot(*sides, repetitions=2, identities=10, seed=1).evaluate(answers)
    assert protocol.evaluate(answers) == again
    other = SingleShot(*sides, repetitions=2, identities=10, seed=2)
    assert (other.judge(answers).positives != taking_part[0]).any()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"repetitions": 0}, "repetitions"),
        ({"identities": 3}, "from 1 to the 2"),
        ({"seed": -1}, "seed"),
    ],
)
def test_what_it_refuses(options: dict[str, int], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        SingleShot([1], [1], [1, 2], [2, 2], **options)


def test_there_is_no_repetition_beyond_the_last() -> None:
    with pytest.raises(BadInput, match="no repetition 5"):
        SingleShot([1], [1], [1, 2], [2, 2], repetitions=5).judge(naive.ranking([[0, 1]]), 5)
