"""What a change of the index costs beside building its graph anew, and whether both end in the same place.

    python -m benchmarks.index.updates [--sizes 10000,100000] [--dim 128]

An index of n synthetic vectors. In one process, one after the other: a rebuild, 1 % added, 1 % removed,
single items, then twenty rounds that add and remove 1 % each. Every figure is the whole call: catalogue,
synced files and graph. In the end a new index is made of the same items, and both rank the same 200 queries.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from foldwalk.datasets import synthetic
from foldwalk.index import Index
from harness import Clock, alone, save

ROUNDS, QUERIES, TOP = 20, 200, 50


def timed(work: Callable[[], object]) -> dict[str, float]:
    with Clock() as clock:
        work()
    return clock.figures()


def measure(n: int, dim: int) -> dict[str, Any]:
    share = n // 100
    data = synthetic(n + (ROUNDS + 1) * share + 10, d=dim, queries=QUERIES)
    pool, names = data.gallery, [f"item{i}" for i in range(len(data.gallery))]
    rng = np.random.default_rng(0)
    with (
        tempfile.TemporaryDirectory() as folder,
        Index.create(Path(folder, "a.fold"), backbone=None) as index,
    ):
        _warm_up(Path(folder), dim)
        used = n

        def add(count: int) -> None:
            nonlocal used
            index.add_vectors(pool[used : used + count], names[used : used + count])
            used += count

        def remove(count: int) -> None:
            index.remove([str(key) for key in rng.choice(index.keys(), count, replace=False)])

        row: dict[str, Any] = {"n": n, "dim": dim}
        row["first_add"] = timed(lambda: index.add_vectors(pool[:n], names[:n]))
        row["rebuild"] = timed(index.rebuild)
        row["add_1_percent"] = timed(lambda: add(share))
        row["remove_1_percent"] = timed(lambda: remove(share))
        row["add_one"] = timed(lambda: add(1))
        row["remove_one"] = timed(lambda: remove(1))
        for _ in range(ROUNDS):
            add(share)
            remove(share)
        told = index.info()
        row["rounds"] = ROUNDS
        row["drift"], row["recall"] = round(told.drift, 4), round(told.recall, 4)
        row["reason"] = told.reason
        with Index.create(Path(folder, "b.fold"), backbone=None) as fresh:
            fresh.add_vectors(index.vectors(), index.keys())
            same = index.neighbors().ids == fresh.neighbors().ids
            row["graph_rows_equal"] = round(float(same.all(axis=1).mean()), 4)
            for method in ("plain", "cas"):
                row[f"overlap_{method}"] = _overlap(index, fresh, method, data.queries)
    for name in ("add_1_percent", "remove_1_percent", "add_one", "remove_one"):
        row[f"{name}_of_rebuild"] = round(row[name]["wall_s"] / row["rebuild"]["wall_s"], 4)
    return row


def _warm_up(folder: Path, dim: int) -> None:
    """Compile what is going to be measured."""
    vectors = synthetic(500, d=dim).gallery
    with Index.create(folder / "warm.fold", backbone=None) as index:
        index.add_vectors(vectors[:400])
        index.add_vectors(vectors[400:])
        index.remove(index.keys()[:100])


def _overlap(index: Index, fresh: Index, method: str, queries: np.ndarray) -> float:
    """The share of the first 50 answers that both have."""
    ours, theirs = (ix.fitted(method).rank(queries, top=TOP).ids for ix in (index, fresh))
    return round(float(np.mean([np.isin(a, b).mean() for a, b in zip(ours, theirs, strict=True)])), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--dim", type=int, default=128)
    options = parser.parse_args()
    rows = []
    for n in (int(size) for size in options.sizes.split(",")):
        rows.append(alone(measure, n, options.dim))
        print(rows[-1], flush=True)
    save("index_updates", {"rows": rows})


if __name__ == "__main__":
    main()
