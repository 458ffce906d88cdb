"""The k-NN graph of a whole set: ours beside a flat FAISS index and the approximate way.

    python -m benchmarks.speed.knn_graph [--sizes 5000,20000,100000] [--k 50]

Every way gets the same synthetic vectors (256 dimensions). Recall is measured on 200 sampled rows. The flat
FAISS index is timed on 20,000 rows of a larger set and scaled to all of them, which its cost allows: every
row costs the same. Up to 20,000 items the figures are the least of three runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import faiss
import numpy as np

from foldwalk.core import Vectors
from foldwalk.datasets import synthetic
from foldwalk.neighbors import knn_graph
from harness import Clock, alone, exponent, save

FAISS_ROWS = 20_000
REPEATED_UP_TO = 20_000


def least(n: int, work: Callable[[], Any]) -> tuple[dict[str, Any], Any]:
    """The figures of the fastest of some runs, but the largest memory of all, and what was found."""
    runs = []
    for _ in range(3 if n <= REPEATED_UP_TO else 1):
        with Clock() as clock:
            found = work()
        runs.append(clock.figures())
    fastest = min(runs, key=lambda figures: figures["wall_s"])
    return fastest | {"peak_mb": max(figures["peak_mb"] for figures in runs)}, found


def ours(n: int, k: int, way: str) -> dict[str, Any]:
    few = Vectors(synthetic(6_000, d=256).gallery)  # enough for both exact ways
    knn_graph(few, k, way=way)
    vectors = Vectors(synthetic(n, d=256).gallery)
    figures, found = least(n, lambda: knn_graph(vectors, k, way=way))
    return figures | {"recall": round(found.recall, 4)}


def flat_faiss(n: int, k: int) -> dict[str, Any]:
    vectors = synthetic(n, d=256).gallery
    rows = min(n, FAISS_ROWS)
    faiss.knn(vectors[:100], vectors[:1000], k + 1, metric=faiss.METRIC_INNER_PRODUCT)
    figures, _ = least(
        n, lambda: faiss.knn(vectors[:rows], vectors, k + 1, metric=faiss.METRIC_INNER_PRODUCT)
    )
    scale = n / rows
    return figures | {
        "wall_s": round(figures["wall_s"] * scale, 4),
        "cpu_s": round(figures["cpu_s"] * scale, 4),
        "measured_rows": rows,
        "recall": 1.0,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="5000,20000,100000")
    parser.add_argument("--k", type=int, default=50)
    options = parser.parse_args()
    sizes = [int(n) for n in options.sizes.split(",")]
    rows = []
    for n in sizes:
        row: dict[str, Any] = {"n": n}
        row["exact"] = alone(ours, n, options.k, "exact")
        row["flat_faiss"] = alone(flat_faiss, n, options.k)
        row["descent"] = alone(ours, n, options.k, "approximate")
        row["faiss_over_exact"] = round(row["flat_faiss"]["wall_s"] / row["exact"]["wall_s"], 2)
        rows.append(row)
        print(row, flush=True)
    growth = {
        way: round(exponent(sizes, [row[way]["wall_s"] for row in rows]), 3)
        for way in ("exact", "flat_faiss", "descent")
    }
    print("growth exponents:", growth)
    save("knn_graph", {"k": options.k, "rows": rows, "growth_exponent": growth})


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
