"""What `auto` costs beside CAS: fitting, memory, and a query never seen, at 10,000 and 100,000 items.

    python -m benchmarks.rerank.automatic_cost [--sizes 10000,100000] [--dimensions 128]

Curves of 40 items whose numbers are of very different size, as those of networks are: all three views count.
Everything is fitted from vectors alone, neighbours included, each form in a process of its own, compiled
before the clock starts. Queries come one at a time; p50 of 200. CPU seconds, all threads together. With it
stands what the walk beside the first search finds (neighbors/beside.py). Written to
benchmarks/results/automatic_cost.json, with the ratio to CAS in the same run.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from harness import Clock, alone, save

PER_CURVE, QUERIES, WARM = 40, 200, 3_000
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "cas": ("cas", {}),
    "auto": ("auto", {}),
    "auto effort=low": ("auto", {"effort": "low"}),
    "auto views=raw": ("auto", {"views": "raw"}),
}


def uneven(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Items, and queries near some of them."""
    from foldwalk.datasets.sets.synthetic import synthetic

    items = np.asarray(synthetic(n, d=d, clusters=n // PER_CURVE, distractors=0).gallery)
    items = np.ascontiguousarray(items / (1 + 16 * np.arange(d) / d), np.float32)
    rng = np.random.default_rng(0)
    near = items[rng.choice(n, QUERIES, replace=False)]
    return items, (near * (1 + 0.05 * rng.normal(size=near.shape))).astype(np.float32)


def measure(form: str, n: int, d: int) -> dict[str, Any]:
    from foldwalk import rerank

    name, parameters = FORMS[form]
    items, queries = uneven(n, d)
    few = rerank.create(name, **parameters, search="exact").fit(items[:WARM])
    few.rank(queries[:2], 10)
    with Clock() as clock:
        fitted = rerank.create(name, **parameters).fit(items)
    row: dict[str, Any] = {"n": n, "d": d, **clock.figures(), "note": fitted.note}
    for top in (10, 100):
        fitted.rank(queries[:1], top)
        spent = []
        for query in queries:
            began = time.process_time()
            fitted.rank(query[None], top)
            spent.append(time.process_time() - began)
        row[f"query_ms_top_{top}"] = round(1000 * float(np.median(spent)), 3)
    return row | (found_beside(fitted, queries) if name == "auto" else {})


def found_beside(fitted: Any, queries: np.ndarray, k: int = 50) -> dict[str, float]:
    """The share of the nearest in each further view that a walk from those in the raw view finds, and of the
    neighbours of items that stand in its lists."""
    from foldwalk.core import Vectors
    from foldwalk.neighbors.beside import nearest_beside

    shares: dict[str, float] = {}
    first = None
    for name, method, seen in fitted.seen.queries(Vectors(queries).unit()):
        exact = method.search(seen, 150)
        first = first or exact
        if first is not exact:
            lists = method.known_neighbors
            near = nearest_beside(method.vectors, lists, seen, first.ids, k)
            both = [np.isin(a[:k], b).mean() for a, b in zip(exact.ids, near.ids, strict=True)]
            shares[f"{name}, found"] = round(float(np.mean(both)), 4)
            shares[f"{name}, lists"] = round(lists.recall, 4)
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--dimensions", type=int, default=128)
    options = parser.parse_args()
    rows = []
    for n in map(int, options.sizes.split(",")):
        base: dict[str, Any] = {}
        for form in FORMS:
            row = {"form": form} | alone(measure, form, n, options.dimensions)
            base = base or row
            for key in ("cpu_s", "query_ms_top_10", "query_ms_top_100"):
                row[f"{key}, times cas"] = round(row[key] / base[key], 2)
            rows.append(row)
            print(row, flush=True)
            save("automatic_cost", {"results": rows})


if __name__ == "__main__":
    main()
