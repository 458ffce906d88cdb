"""CAS over several graphs at once (graphs=) beside one graph: mAP, R@1, seconds, and the weights.

    python -m benchmarks.cas.graphs [--datasets orl,mpeg7,...] [--graphs 10,15,20,25] [--root DATA]

Every item is a query for the rest of its class; of sets above 5,000 items a random 300 ask. Figures in
percent, with shortest paths and without. Seconds are CPU seconds of fitting, neighbours known and kernels
compiled, the lesser of two runs.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from foldwalk import datasets, rerank
from foldwalk.core import Ranking, Vectors
from foldwalk.rerank.diffusion.cas import CAS
from harness import RESULTS, alone, save

DATASETS = "orl,mpeg7,coil20,grocery,digits,czoo,lion,cub_last100,emoji4"
ASKED_ABOVE, ASKED = 5_000, 300
RUNS = 2
PATHS = {"with paths": True, "without paths": False}


def scores(ranking: Ranking, labels: np.ndarray, rows: np.ndarray) -> dict[str, float]:
    """mAP and R@1 as the leave-one-out protocol has them, for some of the rows."""
    hits = labels[ranking.ids] == labels[rows][:, None]
    precision = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
    found = hits.sum(axis=1)
    asked = found > 0
    mean = ((precision * hits).sum(axis=1)[asked] / found[asked]).mean()
    return {"mAP": round(100 * float(mean), 2), "R@1": round(100 * float(hits[asked, 0].mean()), 2)}


def measure(name: str, graphs: str, root: str | None) -> dict[str, Any]:
    data = datasets.load(name, root=root)
    vectors, labels = Vectors.check(data.gallery).unit(), np.asarray(data.labels)
    n = len(vectors)
    rows = np.arange(n)
    if n > ASKED_ABOVE:
        rows = np.sort(np.random.default_rng(0).permutation(n)[:ASKED])
    known = CAS(graphs=graphs).adopt(vectors).neighbors()
    plain = rerank.create("plain").adopt(vectors).rank_rows(rows, n - 1)
    figures: dict[str, Any] = {"items": n, "asked": len(rows), "plain": scores(plain, labels, rows)}
    for label, paths in PATHS.items():
        for kind, sizes in (("one graph", ""), ("several graphs", graphs)):
            method, seconds = CAS(geodesic=paths, graphs=sizes), []
            for _ in range(RUNS):
                began = time.process_time()
                method.adopt(vectors, neighbors=known)
                seconds.append(time.process_time() - began)
            row: dict[str, Any] = scores(method.rank_rows(rows, n - 1), labels, rows)
            row["fit_cpu_s"] = round(min(seconds), 2)
            if method.stored.graph_weights is not None:
                row["weights"] = [round(float(weight), 3) for weight in method.stored.graph_weights]
            figures[f"{kind}, {label}"] = row
    return figures


def page(results: dict[str, dict[str, Any]]) -> str:
    kinds = [f"{kind}, {label}" for label in PATHS for kind in ("one graph", "several graphs")]
    lines = [f"| | plain | {' | '.join(kinds)} |", f"|---|---|{'---|' * len(kinds)}"]
    cells = {name: [found[kind] for kind in ("plain", *kinds)] for name, found in results.items()}
    figures = {name: [(cell["mAP"], cell["R@1"]) for cell in row] for name, row in cells.items()}
    figures["*mean*"] = np.mean(list(figures.values()), axis=0)
    for name, row in figures.items():
        lines.append(f"| {name} | {' | '.join(f'{first:.2f} ({second:.2f})' for first, second in row)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", default=DATASETS)
    parser.add_argument("--graphs", default="10,15,20,25")
    parser.add_argument("--root")
    options = parser.parse_args()
    results = {}
    for name in options.datasets.split(","):
        results[name] = alone(measure, name, options.graphs, options.root)
        print(name, results[name], flush=True)
    save("cas_graphs", {"graphs": options.graphs, "results": results})
    target = RESULTS / "cas_graphs.md"
    target.write_text(page(results), encoding="utf-8")
    print(f"written: {target}")


if __name__ == "__main__":
    main()
