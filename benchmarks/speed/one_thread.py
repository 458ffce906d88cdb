"""The methods whose authors' programs were measured, on one thread each, in CPU seconds.

    python -m benchmarks.speed.one_thread

Work shared by two threads can cost more CPU seconds in all than on one. Beside it, k-reciprocal encoding in
plain numpy. The least of three runs; sets as in methods.py.
"""

from __future__ import annotations

import os
from typing import Any

from harness import Clock, alone, save

PAIRS = [
    ("k_reciprocal", 10_000),
    ("ecn", 10_000),
    ("gnn", 10_000),
    ("dfs", 10_000),
    ("lhrr", 10_000),
    ("eir", 10_000),
    ("rdp", 5_000),
    ("cas", 5_000),
]
RUNS = 3


def whole(name: str, n: int) -> dict[str, Any]:
    """From vectors to rankings of 100 queries; and the gallery's own part alone."""
    from foldwalk import rerank
    from foldwalk.datasets import synthetic

    few, data = synthetic(1_000, d=128), synthetic(n, d=128)
    rerank.create(name).rerank(few.queries, few.gallery, top=200)
    rerank.create(name).fit(few.gallery)
    joined, fitted = [], []
    for _ in range(RUNS):
        with Clock() as clock:
            rerank.create(name).rerank(data.queries, data.gallery, top=200)
        joined.append(clock.figures()["cpu_s"])
        with Clock() as clock:
            rerank.create(name).fit(data.gallery)
        fitted.append(clock.figures()["cpu_s"])
    return {"method": name, "n": n, "rerank_cpu_s": min(joined), "fit_cpu_s": min(fitted)}


def numpy_k_reciprocal(n: int) -> dict[str, Any]:
    from benchmarks.speed import methods

    return {"n": n} | methods.dense(n)


def main() -> None:
    for name in ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ[name] = "1"  # for the processes that are started from here
    rows = []
    for name, n in PAIRS:
        rows.append(alone(whole, name, n))
        print(rows[-1], flush=True)
    yardstick = alone(numpy_k_reciprocal, 10_000)
    print(yardstick)
    save("rerank_one_thread", {"rows": rows, "plain_numpy_k_reciprocal": yardstick})


if __name__ == "__main__":
    main()
