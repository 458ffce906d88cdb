"""Products by our own threads: the same numbers, and the BLAS gets its threads back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from threadpoolctl import threadpool_info

from foldwalk.machine import products
from foldwalk.machine.products import one_thread_each, product


def blas_threads() -> list[int]:
    """Of numpy's own BLAS; others may be loaded later by somebody else."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return [pool["num_threads"] for pool in pools if "numpy" in pool["filepath"]]


@pytest.mark.parametrize(("rows", "others"), [(0, 5), (1, 1), (1, 300), (300, 7), (64, 513)])
@pytest.mark.parametrize("small", [0, 2**40])
def test_against_numpy(monkeypatch, rows, others, small):
    monkeypatch.setattr(products, "SMALL", small)
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(n, 12)).astype(np.float32) for n in (rows, others))
    assert np.allclose(product(a, b), a @ b.T, atol=1e-5)
    room = np.full((rows + 2, others), 7, np.float32)
    found = product(a, b, out=room[:rows])
    assert np.shares_memory(found, room) or rows == 0
    assert np.allclose(room[:rows], a @ b.T, atol=1e-5)
    assert (room[rows:] == 7).all()


def test_threads_of_the_blas_come_back_when_the_last_user_leaves():
    before = blas_threads()
    assert before
    with one_thread_each():
        with one_thread_each():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before
    with pytest.raises(ZeroDivisionError), one_thread_each():
        raise ZeroDivisionError
    assert blas_threads() == before


def test_users_at_the_same_time_get_their_answers():
    a = np.random.default_rng(0).normal(size=(400, 64)).astype(np.float32)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: product(a, a), range(40)))
    assert all(np.allclose(one, a @ a.T, atol=1e-4) for one in found)


def test_one_thread_is_enough():
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        a = np.eye(300, dtype=np.float32)
        assert np.array_equal(product(a, a), a)
    finally:
        numba.set_num_threads(before)
