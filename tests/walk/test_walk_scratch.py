"""Work space between calls: blank when borrowed, one per thread, left blank by the kernels that use it."""

from __future__ import annotations

import threading

import numpy as np

from foldwalk import rerank
from foldwalk.datasets import synthetic
from foldwalk.walk.scratch import blank


def test_the_same_thread_gets_the_same_array_and_another_thread_its_own() -> None:
    mine = blank((2, 5), -1, np.int32)
    assert np.shares_memory(mine, blank((2, 5), -1, np.int32))
    assert (mine == -1).all()
    fewer = blank((1, 5), -1, np.int32)  # whatever the shape: two sizes taking turns clear nothing
    assert (fewer.shape, np.shares_memory(mine, fewer)) == ((1, 5), True)
    assert (blank((40, 50), -1, np.int32) == -1).all()
    theirs = []
    thread = threading.Thread(target=lambda: theirs.append(blank((1, 5), -1, np.int32)))
    thread.start()
    thread.join()
    assert not np.shares_memory(theirs[0], blank((1, 5), -1, np.int32))


def test_a_query_answers_the_same_whatever_was_asked_before_it() -> None:
    data = synthetic(600, d=16, queries=40)
    for name in ("cas", "auto"):
        method = rerank.create(name).fit(data.gallery)
        together = method.rank(data.queries, top=50)
        for q in (7, 3, 7, 39):
            alone = method.rank(data.queries[q : q + 1], top=50)
            assert np.array_equal(alone.ids[0], together.ids[q])
            assert np.array_equal(alone.scores[0], together.scores[q])
    n = len(data.gallery)
    assert (blank((3, 1, n + 1), 0, np.float32) == 0).all()
    assert (blank((2, 1, n + 1), -1, np.int32) == -1).all()
    assert np.isinf(blank((1, n + 1), np.inf, np.float32)).all()
