"""Sampling queries: same rules, fewer questions."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk.core import BadInput, Ranking
from foldwalk.datasets import Dataset
from foldwalk.evaluate import LeaveOneOut, Oxford, QueryGallery
from foldwalk.measure.trial import SomeQueries, open_trial

X = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
LABELS = np.arange(30) % 3


def random_ranking(queries: int, items: int) -> Ranking:
    rng = np.random.default_rng(0)
    ids = np.stack([rng.permutation(items) for _ in range(queries)])
    return Ranking(ids, np.tile(np.linspace(1, 0, items), (queries, 1)))


def test_whole_data_set_by_default() -> None:
    dataset = Dataset("toy", "features", X, None, LeaveOneOut(LABELS), labels=LABELS)
    for sample in (None, 30, 99):
        trial = open_trial(dataset, sample)
        assert trial.gallery is X
        assert trial.queries is None
        assert trial.protocol is dataset.protocol


def test_leave_one_out_sample_queries_the_rest() -> None:
    pixels = np.arange(30, dtype=np.uint8)[:, None, None].repeat(2, 1).repeat(2, 2)
    dataset = Dataset("toy", "pixels", X, None, LeaveOneOut(LABELS), pixels=pixels, labels=LABELS)
    trial = open_trial(dataset, 5, seed=3)
    assert trial.queries is not None
    assert (len(trial.queries), len(trial.gallery)) == (5, 25)
    together = np.concatenate([trial.gallery, trial.queries])
    assert sorted(map(tuple, together)) == sorted(map(tuple, X))
    # Pictures follow their vectors.
    for item in range(25):
        source = int(np.asarray(trial.picture(item))[0, 0])
        np.testing.assert_array_equal(X[source], trial.gallery[item])
    for query in range(5):
        source = int(np.asarray(trial.query_picture(query))[0, 0])
        np.testing.assert_array_equal(X[source], trial.queries[query])
    np.testing.assert_array_equal(open_trial(dataset, 5, seed=3).gallery, trial.gallery)
    assert not np.array_equal(open_trial(dataset, 5, seed=4).queries, trial.queries)


def test_some_queries_judge_as_the_whole_does() -> None:
    query_labels, rows = np.random.default_rng(0).integers(0, 3, 9), np.array([1, 4, 8])
    whole = QueryGallery(query_labels, LABELS)
    ranking = random_ranking(9, 30)
    some = SomeQueries(whole, rows)
    chosen = Ranking(ranking.ids[rows], ranking.scores[rows])
    expected = QueryGallery(query_labels[rows], LABELS).evaluate(chosen)
    assert some.evaluate(chosen) == pytest.approx(expected)
    np.testing.assert_array_equal(some.judge(chosen).relevant, whole.judge(ranking).relevant[rows])
    assert (some.n_queries, some.main, some.name) == (3, whole.main, whole.name)


def test_queries_of_their_own_are_sampled_by_row() -> None:
    protocol = Oxford([[0, 1], [2], [3, 4], [5]], [[9], [], [8], []])
    queries = np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32)
    dataset = Dataset("toy", "features", X, queries, protocol)
    trial = open_trial(dataset, 2, seed=1)
    assert trial.gallery is X
    assert trial.query_rows is not None
    np.testing.assert_array_equal(trial.queries, queries[trial.query_rows])
    ranking = random_ranking(2, 30)
    expected = Oxford(
        [[[0, 1], [2], [3, 4], [5]][q] for q in trial.query_rows],
        [[[9], [], [8], []][q] for q in trial.query_rows],
    ).evaluate(ranking)
    assert trial.protocol.evaluate(ranking) == pytest.approx(expected)


def test_refusals() -> None:
    pictures = Dataset("toy", "pictures", None, None, LeaveOneOut(LABELS))
    with pytest.raises(BadInput, match="toy:features"):
        open_trial(pictures)
    with pytest.raises(BadInput, match="no labels"):
        open_trial(Dataset("toy", "features", X, None, LeaveOneOut(LABELS)), 5)
    some = SomeQueries(QueryGallery(LABELS, LABELS), np.array([0, 1]))
    with pytest.raises(BadInput, match="2 queries were sampled"):
        some.evaluate(random_ranking(3, 30))
