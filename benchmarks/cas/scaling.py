"""CAS from a thousand to a million items, 100 queries: time by stage, memory, mAP beside plain search.

    python -m benchmarks.cas.scaling [--sizes 1000,5000,10000,50000,100000,1000000] [--latency 100000]

Everything is timed with the vectors in memory and the kernels compiled (what compiling cost is given apart):
the k-NN graph, the walk on gallery and queries together (as the paper has it), and the queries' rankings.
Up to 10,000 items the figures are those of the median of five runs.
Yardstick in the same run, up to 5,000 items: a dense numpy CAS from the paper (yardsticks/dense_cas.py).
Latency: single unseen queries against a fitted gallery, beside a FAISS HNSW search of the same gallery.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import dense_cas
from foldwalk import rerank
from foldwalk.core import Vectors
from foldwalk.datasets import synthetic
from foldwalk.neighbors import choose_way, knn_graph
from foldwalk.neighbors.approximate import SmallWorld
from harness import RESULTS, Clock, alone, exponent, save

DENSE_UP_TO = 5_000
REPEATED_UP_TO = 10_000  # where one run takes about a second: the median of five
NEIGHBOURS = 24


def depth(n: int) -> int:
    """How many items to rank: more than a class holds, which grows as the square root of n."""
    return 200 if n <= 10_000 else 1_000


def ours(n: int, dim: int) -> dict[str, Any]:
    top = depth(n)
    few = synthetic(3_000, d=dim)
    way = choose_way(n, n, dim)
    began = time.perf_counter()
    rerank.create("cas").rerank(few.queries, few.gallery, top=top)
    knn_graph(Vectors(few.gallery), NEIGHBOURS, way=way)
    compiling = time.perf_counter() - began
    data = synthetic(n, d=dim)
    everyone = np.concatenate([data.gallery, data.queries])
    plain = rerank.create("plain").fit(data.gallery).rank(data.queries, top=top)
    runs = [_run(data, everyone, way, top) for _ in range(5 if n <= REPEATED_UP_TO else 1)]
    figures, answer = sorted(runs, key=lambda run: run[0]["wall_s"])[len(runs) // 2]
    return figures | {
        "runs": len(runs),
        "compile_s": round(compiling, 1),
        "top": top,
        "mAP": round(data.protocol.evaluate(answer)["mAP"], 4),
        "plain_mAP": round(data.protocol.evaluate(plain)["mAP"], 4),
    }


def _run(data: Any, everyone: Any, way: str, top: int) -> tuple[dict[str, Any], Any]:
    n = len(data.gallery)
    with Clock() as total:
        began = time.perf_counter()
        graph = knn_graph(Vectors.check(everyone).unit(), NEIGHBOURS, way=way)
        graph_seconds = time.perf_counter() - began
        method = rerank.create("cas")
        method.adopt(Vectors.check(everyone).unit(), candidates=n, neighbors=graph)
        fit_seconds = time.perf_counter() - began - graph_seconds
        rows = np.arange(n, n + len(data.queries))
        answer = method.rank_rows(rows, top)
    figures = total.figures()
    return figures | {
        "graph_s": round(graph_seconds, 3),
        "graph_way": graph.how,
        "graph_recall": round(graph.recall, 4),
        "walk_s": round(fit_seconds, 3),
        "rank_s": round(figures["wall_s"] - graph_seconds - fit_seconds, 3),
    }, answer


def dense(n: int, dim: int) -> dict[str, Any]:
    data = synthetic(n, d=dim)
    with Clock() as clock:
        everyone = np.concatenate([data.gallery, data.queries])
        distances = dense_cas.final_distances(everyone, np.arange(n, n + len(data.queries)))
        np.argsort(distances[:, :n], axis=1)
    return clock.figures()


def latency(n: int, dim: int, asked: int = 300, top: int = 100) -> dict[str, Any]:
    data = synthetic(n, d=dim, queries=asked)
    method = rerank.create("cas", search="approximate").fit(data.gallery)
    method.rank(data.queries[:2], top=top)
    world = SmallWorld(Vectors(data.gallery), "cosine", seed=0)
    world.index.hnsw.efSearch = max(64, 2 * top)
    seconds: dict[str, list[float]] = {"hnsw": [], "cas": []}
    for query in data.queries[:, None]:
        began = time.perf_counter()
        world.index.search(query, top)
        seconds["hnsw"].append(time.perf_counter() - began)
        began = time.perf_counter()
        method.rank(query, top=top)
        seconds["cas"].append(time.perf_counter() - began)
    figures: dict[str, Any] = {"n": n, "dim": dim, "top": top, "hnsw_recall": round(world.recall, 4)}
    for name, values in seconds.items():
        figures[f"{name}_p50_ms"] = round(1000 * float(np.median(values)), 3)
        figures[f"{name}_p99_ms"] = round(1000 * float(np.quantile(values, 0.99)), 3)
    figures["cas_over_hnsw"] = round(figures["cas_p50_ms"] / figures["hnsw_p50_ms"], 2)
    return figures


def plot(rows: list[dict[str, Any]], target: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    sizes = [row["n"] for row in rows]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4))
    for key, label in (
        ("wall_s", "all"),
        ("graph_s", "k-NN graph"),
        ("walk_s", "walk"),
        ("rank_s", "ranking"),
    ):
        left.plot(sizes, [max(row[key], 1e-3) for row in rows], "o-", label=label)
    compared = [row for row in rows if "dense" in row]
    left.plot(
        [r["n"] for r in compared], [r["dense"]["wall_s"] for r in compared], "s--", label="dense numpy"
    )
    right.plot(sizes, [row["peak_mb"] for row in rows], "o-", label="peak memory over the base")
    right.plot(
        [r["n"] for r in compared], [r["dense"]["peak_mb"] for r in compared], "s--", label="dense numpy"
    )
    for axes, title in ((left, "seconds"), (right, "MB")):
        axes.set(xscale="log", yscale="log", xlabel="items", title=title)
        axes.grid(alpha=0.3)
        axes.legend()
    figure.tight_layout()
    figure.savefig(target, dpi=120)
    print(f"written: {target}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,5000,10000,50000,100000,1000000")
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--latency", type=int, default=100_000)
    options = parser.parse_args()
    rows = []
    for n in (int(size) for size in options.sizes.split(",")):
        row = {"n": n} | alone(ours, n, options.dim)
        if n <= DENSE_UP_TO:
            row["dense"] = alone(dense, n, options.dim)
            row["dense_over_ours"] = round(row["dense"]["wall_s"] / row["wall_s"], 1)
        rows.append(row)
        print(row, flush=True)
    large = [row for row in rows if row["n"] >= 10_000]
    results: dict[str, Any] = {"dim": options.dim, "queries": 100, "rows": rows}
    if len(large) > 1:
        sizes = [row["n"] for row in large]
        results["growth_exponent"] = {
            key: round(exponent(sizes, [row[key] for row in large]), 3)
            for key in ("wall_s", "walk_s", "peak_mb")
        }
        print("growth from 10,000:", results["growth_exponent"])
    if options.latency:
        results["latency"] = alone(latency, options.latency, options.dim)
        print(results["latency"])
    save("cas_scaling", results)
    plot(rows, RESULTS / "cas_scaling.png")


if __name__ == "__main__":
    main()
