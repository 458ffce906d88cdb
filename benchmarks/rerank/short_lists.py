"""Re-ranking short lists by themselves, beside the graph of the whole gallery: what is lost.

    python -m benchmarks.rerank.short_lists [--root DATA] [--datasets orl,mpeg7,...] [--queries 200]

So many items of each set, drawn at random, are queries for the rest of their class. Plain search gives each
its first 50 or 200; `rerank_candidates` orders these, and the rest follows as plain search had it. Beside it
stand plain search alone and the method on the whole gallery, whose neighbours (the 50 nearest of each item,
as a vector database lists them) are handed in. mAP in percent of whole rankings. Seconds are CPU seconds for
all queries, on one thread, fitting included.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numba
import numpy as np

from foldwalk import datasets, rerank
from foldwalk.core import Vectors
from foldwalk.core.seeds import generator
from foldwalk.neighbors import knn_graph, prepare
from harness import save

METHODS = ("cas", "k_reciprocal", "dfs")
LENGTHS = (50, 200)
LISTED = 50


def mean_precision(ids: np.ndarray, own: np.ndarray, labels: np.ndarray) -> float:
    """mAP in percent of whole rankings without the query, by rectangles."""
    precisions = []
    for row, query in zip(ids, own, strict=True):
        places = np.flatnonzero(labels[row] == labels[query]) + 1
        if len(places):
            precisions.append((np.arange(1, len(places) + 1) / places).mean())
    return round(100 * float(np.mean(precisions)), 2)


def measure(data: datasets.Dataset, queries: int) -> list[dict[str, Any]]:
    gallery, labels, metric = data.gallery, np.asarray(data.labels), data.metric
    n = len(gallery)
    own = np.sort(generator(0, "short lists").choice(n, min(queries, n), replace=False))
    plain = rerank.create("plain", metric=metric).fit(gallery).rank_rows(own, top=n).ids
    nearest = knn_graph(prepare(Vectors.check(gallery), metric), LISTED, metric)
    rows = [
        {"dataset": data.name, "method": "plain", "graph": "none", "mAP": mean_precision(plain, own, labels)}
    ]
    for name in METHODS:
        method = rerank.create(name, metric=metric)
        method.rerank_candidates(gallery[own[0]], gallery[plain[0, :50]])  # compiles
        for length in LENGTHS:
            began = time.process_time()
            answer = method.rerank_candidates(gallery[own], gallery[plain[:, :length]], top=length).ids
            seconds = time.process_time() - began
            ids = plain.copy()
            ids[:, :length] = np.take_along_axis(plain[:, :length], answer, axis=1)
            rows.append(
                row(data.name, name, f"the first {length}", mean_precision(ids, own, labels), seconds)
            )
        began = time.process_time()
        ids = method.fit(gallery, neighbors=nearest).rank_rows(own, top=n).ids
        seconds = time.process_time() - began
        rows.append(row(data.name, name, "whole gallery", mean_precision(ids, own, labels), seconds))
    return rows


def row(dataset: str, method: str, graph: str, precision: float, seconds: float) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "method": method,
        "graph": graph,
        "mAP": precision,
        "cpu_s": round(seconds, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root")
    parser.add_argument("--datasets", default="orl,mpeg7,grocery,digits")
    parser.add_argument("--queries", type=int, default=200)
    options = parser.parse_args()
    numba.set_num_threads(1)
    rows = []
    for name in options.datasets.split(","):
        rows += measure(datasets.load(name, root=options.root), options.queries)
        for one in rows:
            if one["dataset"] == rows[-1]["dataset"]:
                print(one, flush=True)
        save("short_lists", {"queries": options.queries, "rows": rows})


if __name__ == "__main__":
    main()
