"""Memory of one process that goes on searching: before and after many searches of each method.

    python -m benchmarks.service.endurance [--items 2000] [--searches 10000] [--methods plain,cas]

Half of the searches are by an item of the index, half by a vector it has not seen. A tenth as many come first
and are not counted: kernels are loaded then, and what a method keeps is made. Measured is the resident
set, on Linux only.
"""

from __future__ import annotations

import argparse
import itertools
import re
import tempfile
import time
from pathlib import Path
from typing import Any

from foldwalk import rerank
from foldwalk.datasets import synthetic
from foldwalk.index import Index, Key
from harness import save

TOP, DIM, QUERIES = 20, 128, 200


def resident_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


def endure(index: Index, queries: list[Any], method: str, searches: int) -> dict[str, Any]:
    first = searches // 10
    began = before = 0.0
    for number, query in enumerate(itertools.islice(itertools.cycle(queries), first + searches)):
        if number == first:
            began, before = time.perf_counter(), resident_mb()
        index.search(query, top=TOP, method=method)
    wall = time.perf_counter() - began
    after = resident_mb()
    return {
        "method": method,
        "searches": searches,
        "seconds": round(wall, 1),
        "before_mb": round(before, 1),
        "after_mb": round(after, 1),
        "bytes_per_search": round((after - before) * 2**20 / searches, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=2_000)
    parser.add_argument("--searches", type=int, default=10_000)
    untrained = [name for name in rerank.names() if not rerank.describe(name).needs_training]
    parser.add_argument("--methods", default=",".join(untrained))
    options = parser.parse_args()
    data = synthetic(options.items, d=DIM, queries=QUERIES)
    rows = []
    with tempfile.TemporaryDirectory() as folder, Index.create(f"{folder}/x.fold", backbone=None) as index:
        index.add_vectors(data.gallery, [str(number) for number in range(options.items)])
        queries = [query for row, new in enumerate(data.queries) for query in (Key(str(row)), new)]
        for method in options.methods.split(","):
            rows.append(endure(index, queries, method, options.searches))
            print(rows[-1], flush=True)
    save("service_endurance", {"items": options.items, "dim": DIM, "top": TOP, "rows": rows})


if __name__ == "__main__":
    main()
