"""Ranked lists into one, beside a loop."""

from __future__ import annotations

import numpy as np

from foldwalk.walk.members import fused_lists


def fused_by_loops(lists, weights, top):
    answers = []
    for q in range(len(lists[0][0])):
        total: dict[int, float] = {}
        for (ids, scores), weight in zip(lists, weights, strict=True):
            known = [(i, s) for i, s in zip(ids[q].tolist(), scores[q].tolist(), strict=True) if i >= 0]
            for item, score in known:
                span = known[0][1] - known[-1][1]
                z = (score - known[-1][1]) / span if span else 1.0
                total[item] = total.get(item, 0.0) + weight * z
        answers.append(sorted(((-s, i) for i, s in total.items() if s > 0))[:top])
    return answers


def test_by_loops():
    rng = np.random.default_rng(0)
    lists = []
    for length in (9, 5, 7):
        ids = np.stack([rng.permutation(30)[:length] for _ in range(20)]).astype(np.int32)
        scores = -np.sort(-rng.random((20, length)).astype(np.float32), axis=1)
        ids[3, 2:] = -1
        ids[4] = -1
        scores[5] = 0.5
        lists.append((ids, scores))
    weights = [0.5, 0.5, 0.15]
    for top in (4, 30):
        ids, scores = fused_lists(lists, weights, 30, top)
        for q, expected in enumerate(fused_by_loops(lists, weights, top)):
            found = int((ids[q] >= 0).sum())
            assert found == len(expected)
            assert np.allclose(scores[q, :found], [-s for s, _ in expected], atol=1e-6)
            assert ids[q, :found].tolist() == [i for _, i in expected]
    again, _ = fused_lists(lists, weights, 30, 30)
    assert (again == ids).all()  # the work space was given back blank
