"""Every method that needs no training, from a thousand to 100,000 items: CPU, wall, memory, mAP, growth.

    python -m benchmarks.speed.methods [--sizes 1000,...] [--methods all] [--within 300] [--again]

Synthetic sets, 128 dimensions, 100 queries that join the graph (transductive, as in the papers). Kernels are
compiled and vectors are in memory before the clock starts.

- "whole": up to 10,000 items, `rerank` from vectors to rankings, the k-NN graph included.
- "walk": the same with the k-NN graph handed in, at every size; its growth over n is the method's own. What
  the graph costs is measured once per size, and how it grows is in knn_graph.py.
- "unseen": up to 10,000 items, `fit` on the gallery and `rank` of the queries, which the gallery never saw;
  its mAP beside that of "whole" is the price of not refitting.
- Yardstick in the same run, up to 10,000 items: k-reciprocal encoding in plain numpy (yardsticks/).

Up to 10,000 items, and beyond where a run takes less than two seconds, the seconds are those of the run with
the least CPU time out of three, the yardstick's too: a shared machine disturbs what takes a fraction of a
second. Peak memory is the highest of the three. A measurement that takes longer than `--within` seconds is
stopped and recorded as such. `--again` takes the rows of these methods anew and leaves the rest of an
earlier run as it is.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

import dense_k_reciprocal
from foldwalk import rerank
from foldwalk.core import Neighbors, Vectors
from foldwalk.datasets import synthetic
from foldwalk.neighbors import knn_graph
from harness import RESULTS, Clock, alone, exponent, save

DIM = 128
WHOLE_UP_TO = 10_000
RUNS, SHORT = 3, 2.0
FREE = ("egt",)  # learned by family, but nothing is trained
TOUCHED = 2 * 2**30  # bytes
DEPTH = 400  # what the methods on rank lists ask for; the others take the head


def depth(n: int) -> int:
    """How many items to rank: more than a class holds, which grows as the square root of n."""
    return 200 if n <= 10_000 else 1_000


def graph_of(n: int, folder: str) -> dict[str, Any]:
    """The k-NN graph of gallery and queries, kept for the methods; 50 neighbours are timed, 400 are kept."""
    data = synthetic(n, d=DIM)
    everyone = Vectors.check(np.concatenate([data.gallery, data.queries])).unit()
    knn_graph(Vectors(everyone.values[:WHOLE_UP_TO]), 50)  # compiles
    figures = best_of(lambda: knn_graph(everyone, min(50, len(everyone) - 1)), n)[0]
    found = knn_graph(everyone, min(DEPTH, len(everyone) - 1))
    known = {} if found.least is None else {"least": found.least}
    np.savez(Path(folder) / f"{n}.npz", ids=found.ids, similarities=found.similarities, **known)
    return figures


def measure(name: str, sizes: list[int], folder: str, target: Connection) -> None:
    """One method at all sizes, each answer sent as soon as it is there."""
    few = synthetic(1_000, d=DIM)
    for n in sizes:
        top = depth(n)
        rerank.create(name).rerank(few.queries[:20], few.gallery, top=top)
        warm = rerank.create(name).fit(few.gallery)
        warm.rank(few.queries[:20], top=top)
        asked = 0 if warm.known_neighbors is None else warm.known_neighbors.k
        data = synthetic(n, d=DIM)
        touch_memory()
        row: dict[str, Any] = {"walk": walk(name, data, folder, asked)}
        if n <= WHOLE_UP_TO:
            row |= whole(name, data)
        target.send(row)


def touch_memory() -> None:
    """Pages that the host of a virtual machine has yet to hand over cost more than any work on them."""
    np.ones(TOUCHED // 8)


def walk(name: str, data: Any, folder: str, asked: int) -> dict[str, Any]:
    """From a known graph, with as many neighbours as the method asks for, to the rankings."""
    n = len(data.gallery)
    everyone = Vectors.check(np.concatenate([data.gallery, data.queries])).unit()
    with np.load(Path(folder) / f"{n}.npz", allow_pickle=False) as kept:
        least = kept.get("least")
        graph = Neighbors(kept["ids"], kept["similarities"], least=least)
        graph = graph.first(min(asked, graph.k)) if asked else graph
    method, top = rerank.create(name), depth(n)
    rows = np.arange(n, n + len(data.queries))

    def work() -> Any:
        return method.adopt(everyone, candidates=n, neighbors=graph).rank_rows(rows, top)

    figures, answer = best_of(work, n)
    return figures | {"mAP": _map(data, answer)}


def whole(name: str, data: Any) -> dict[str, Any]:
    """From vectors to rankings, and once more for queries that were never seen."""
    n = len(data.gallery)
    top = depth(n)
    joined, answer = best_of(lambda: rerank.create(name).rerank(data.queries, data.gallery, top=top), n)
    fitting, method = best_of(lambda: rerank.create(name).fit(data.gallery), n)
    ranking, unseen = best_of(lambda: method.rank(data.queries, top=top), n)
    return {
        "whole": joined | {"mAP": _map(data, answer)},
        "unseen": {"fit": fitting, "rank": ranking, "mAP": _map(data, unseen)},
    }


def best_of(work: Callable[[], Any], n: int) -> tuple[dict[str, Any], Any]:
    """Seconds of the run with the least CPU time, the highest peak of all runs, and what came out."""
    runs: list[dict[str, Any]] = []
    while not runs or (len(runs) < RUNS and (n <= WHOLE_UP_TO or runs[0]["wall_s"] < SHORT)):
        with Clock() as clock:
            answer = work()
        runs.append(clock.figures())
    peak = max(run["peak_mb"] for run in runs)
    return min(runs, key=lambda run: run["cpu_s"]) | {"peak_mb": peak}, answer


def dense(n: int) -> dict[str, Any]:
    data = synthetic(n, d=DIM)

    def work() -> None:
        everyone = np.concatenate([data.gallery, data.queries])
        rows = np.arange(n, n + len(data.queries))
        distances = dense_k_reciprocal.final_distances(everyone, rows)
        np.argsort(distances[:, :n], axis=1)

    return best_of(work, n)[0]


def _map(data: Any, answer: Any) -> float:
    return round(float(data.protocol.evaluate(answer)["mAP"]), 4)


def measured(name: str, sizes: list[int], folder: str, seconds: float) -> Iterator[dict[str, Any]]:
    """The rows of one method, from a process of its own; it is stopped when one takes longer than allowed."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=measure, args=(name, sizes, folder, there))
    process.start()
    there.close()
    try:
        for n in sizes:
            if not here.poll(seconds):
                yield {"method": name, "n": n, "failure": f"more than {seconds:.0f} s"}
                return
            yield {"method": name, "n": n} | here.recv()
    except EOFError:
        yield {"method": name, "n": n, "failure": "ended without an answer"}
    finally:
        process.kill()
        process.join()


def growth(rows: list[dict[str, Any]], name: str) -> float | None:
    """The slope of CPU time over n of the walk, from 10,000 items on."""
    own = [r for r in rows if r["method"] == name and r["n"] >= 10_000 and "walk" in r]
    if len(own) < 2:
        return None
    return round(exponent([r["n"] for r in own], [r["walk"]["cpu_s"] for r in own]), 3)


def renewed(kept: dict[str, Any], results: dict[str, Any]) -> dict[str, Any]:
    """An earlier run with the rows of some methods measured anew."""
    anew = {
        row["method"]: [r for r in results["rows"] if r["method"] == row["method"]] for row in results["rows"]
    }
    names = list(dict.fromkeys(row["method"] for row in kept["rows"]))
    rows = [row for name in names for row in anew.get(name, [r for r in kept["rows"] if r["method"] == name])]
    return {
        **{name: value for name, value in kept.items() if name != "run"},
        "growth_of_cpu_from_10000": {name: growth(rows, name) for name in names},
        "measured_again": sorted({*kept.get("measured_again", []), *anew}),
        "rows": rows,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,2000,5000,10000,50000,100000")
    parser.add_argument("--methods", default="all")
    parser.add_argument("--within", type=float, default=300)
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    methods = [name for name in rerank.names() if rerank.describe(name).family != "learned" or name in FREE]
    if options.methods != "all":
        methods = options.methods.split(",")
    sizes = [int(size) for size in options.sizes.split(",")]
    graphs: list[dict[str, Any]] = []
    yardstick: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    kept = json.loads((RESULTS / "rerank_scaling.json").read_text(encoding="utf-8")) if options.again else {}
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            graphs.append({"n": n} | alone(graph_of, n, folder))
            print(f"{n}: graph {graphs[-1]}", flush=True)
            if n <= WHOLE_UP_TO and not kept:
                yardstick.append({"n": n} | alone(dense, n))
                print(f"{n}: plain numpy k-reciprocal {yardstick[-1]}", flush=True)
        for name in methods:
            for row in measured(name, sizes, folder, options.within):
                rows.append(row)
                print(row, flush=True)
            results = {
                "dim": DIM,
                "queries": 100,
                "graph": graphs,
                "plain_numpy_k_reciprocal": yardstick,
                "growth_of_cpu_from_10000": {name: growth(rows, name) for name in methods},
                "rows": rows,
            }
            save("rerank_scaling", renewed(kept, results) if kept else results)


if __name__ == "__main__":
    main()
