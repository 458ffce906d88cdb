"""Matrix products that leave the processor free when they are done.

The threads of a BLAS spin for some hundredths of a second after each product, in case another follows, and
hold up the compiled kernels that follow instead. So each of our own threads multiplies by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import numba
import numpy as np
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from foldwalk.core.types import Float32Array

SMALL = 2**22  # multiplications for which a second thread is not worth starting


class _Users:
    """How many are at it: the number of a BLAS's threads belongs to the process, not to one of them."""

    lock = Lock()
    count = 0
    limit: Any = None


@cache
def _controller() -> Any:
    return ThreadpoolController()


@contextmanager
def one_thread_each() -> Iterator[None]:
    """While anybody is in here, products are computed by the thread that asks for them."""
    with _Users.lock:
        if _Users.count == 0:
            _Users.limit = _controller().limit(limits=1, user_api="blas")
        _Users.count += 1
    try:
        yield
    finally:
        with _Users.lock:
            _Users.count -= 1
            if _Users.count == 0:
                _Users.limit.restore_original_limits()


def product(rows: Float32Array, others: Float32Array, out: Float32Array | None = None) -> Float32Array:
    """rows @ others.T, by as many threads as kernels may use."""
    if out is None:
        out = np.empty((len(rows), len(others)), np.float32)
    threads = numba.get_num_threads()
    with one_thread_each():
        if threads == 1 or rows.size * len(others) < SMALL:
            np.matmul(rows, others.T, out=out)
            return out
        ends = np.linspace(0, len(others), threads + 1).astype(int)

        def part(first: int, last: int) -> None:
            np.matmul(rows, others[first:last].T, out=out[:, first:last])

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(part, ends[:-1], ends[1:]))
    return out
