"""The ablations of the CAS paper on real features (tables 5, 6, 8, 9, figures 3, 4, 6): docs/cas-results.md.

    python -m benchmarks.cas.ablation [--datasets orl,coil20,mpeg7,grocery,cub_last100] [--root DATA]

Every item is a query for the rest of its class, mAP in percent. The tables of the paper have no shortest
paths, so they are off here (geodesic=False), except where a row says otherwise. `--only RDP,mu` measures the
tables with one of these words in their title and takes the others from the results there are.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from foldwalk import datasets, rerank
from harness import RESULTS, ROOT, alone, save

PAGE = ROOT / "docs" / "cas-results.md"
BELOW = "## Several graphs at once\n"  # where benchmarks.cas.graphs begins on that page
DISTANCES = ("similarity", "euclidean", "cosine", "jaccard", "jensen_shannon")
SIZES = (5, 10, 20, 40, 60, 80, 100)
FIGURE_4 = "The same sizes for RDP, k (figure 4)"
KINDS = {"OSM": "original", "SSM": "smoothed", "BSD": "bidirectional"}

TABLES: dict[str, dict[str, dict[str, Any]]] = {
    "Similarity and clusters (table 5)": {
        f"{short} + {label}": {"similarity": kind, "clusters": clusters}
        for label, clusters in (("k-nn", "neighbors"), ("k-recip", "reciprocal"))
        for short, kind in KINDS.items()
    },
    "Smoothing (figure 3)": {
        "nothing": {"smoothing": "none"},
        "average over the nearest": {"smoothing": "average"},
        "guided by the neighbours": {},
    },
    "Distance of rows (table 6)": {name: {"distance": name} for name in DISTANCES},
    "Core size, trusted_k = k2 (table 8)": {f"{k}": {"trusted_k": k} for k in (2, 3, 4, 5, 6, 7, 8, 9, 10)},
    "Weight of the plain distance, omega (table 9)": {
        f"{omega}": {"omega": omega} for omega in (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
    },
    "Cluster size, cluster_k = k1 (figure 4)": {f"{k}": {"cluster_k": k} for k in SIZES},
    FIGURE_4: {f"{k}": {"k": k} for k in SIZES},
    "Width of the affinity, sigma": {f"{v}": {"sigma": v} for v in (0.1, 0.2, 0.3, 0.4, 0.6, 1.0)},
    "Weight of the core, trusted_weight = kappa and lambda": {
        f"{v}": {"trusted_weight": v} for v in (1.0, 1.5, 2.0, 3.0, 5.0)
    },
    "Pull towards the start, mu (figure 6)": {f"{v}": {"mu": v} for v in (0.05, 0.1, 0.23, 0.5, 1.0, 2.0)},
    "Pull towards the unsmoothed row, beta (figure 6)": {
        f"{v}": {"beta": v} for v in (0.0, 0.0001, 0.001, 0.01, 0.1)
    },
    "Size of the graph, graph_k": {f"{k}": {"graph_k": k, "trusted_k": 5} for k in (2, 4, 6, 8, 12, 16)},
    "Solver": {name: {"solver": name} for name in ("ten_steps", "resolvent")},
    "Reliability r of eq. 13": {name: {"reliability": name} for name in ("diagonal", "block")},
    "Shortest paths": {
        "without": {},
        "geodesic_k = 10": {"geodesic": True, "geodesic_k": 10},
        "geodesic_k = 25": {"geodesic": True},
        "geodesic_k = 100": {"geodesic": True, "geodesic_k": 100},
    },
    "Distance of rows along shortest paths": {
        name: {"distance": name, "geodesic": True} for name in DISTANCES
    },
    "What is fused in eq. 18": {
        "plain distance": {},
        "diffusion": {"fuse_with": "diffusion"},
        "plain distance, shortest paths": {"geodesic": True},
        "diffusion, shortest paths": {"geodesic": True, "fuse_with": "diffusion"},
    },
}


def measure(name: str, root: str | None, only: list[str]) -> dict[str, Any]:
    data = datasets.load(name, root=root)
    known: dict[str, float] = {}

    def score(name: str, **parameters: Any) -> float:
        method = rerank.create(name, **parameters)
        if repr(method) not in known:
            ranking = method.fit(data.gallery).rank_self(top=len(data.gallery))
            known[repr(method)] = round(100 * data.protocol.evaluate(ranking)["mAP"], 2)
            print(data.name, method, known[repr(method)], flush=True)
        return known[repr(method)]

    began = time.process_time()
    figures: dict[str, Any] = {"plain": score("plain")}
    for title, rows in TABLES.items():
        if any(word in title for word in only):
            method, common = ("rdp", {}) if title == FIGURE_4 else ("cas", {"geodesic": False})
            figures[title] = {label: score(method, **{**common, **row}) for label, row in rows.items()}
    return figures | {"cpu_s": round(time.process_time() - began, 1)}


def cell(figures: dict[str, float], label: str) -> str:
    if label not in figures:
        return "not measured"
    best = figures[label] == max(figures.values())
    return f"**{figures[label]:.2f}**" if best else f"{figures[label]:.2f}"


def page(results: dict[str, dict[str, Any]]) -> str:
    names = list(results)
    head = f"| | {' | '.join(names)} |\n|---|{'---|' * len(names)}\n"
    plain = f"| *plain search* | {' | '.join(format(results[n]['plain'], '.2f') for n in names)} |\n"
    parts = []
    for title, rows in TABLES.items():
        lines = ""
        for label in rows:
            cells = (cell(results[n].get(title, {}), label) for n in names)
            lines += f"| {label} | {' | '.join(cells)} |\n"
        parts.append(f"## {title}\n\n{head}{plain}{lines}")
    return "\n".join(parts)


def write_page(results: dict[str, dict[str, Any]]) -> None:
    """The tables of docs/cas-results.md; what stands above them, and other measurements below, stays."""
    words, _, below = PAGE.read_text(encoding="utf-8").partition("\n## ")
    others = f"\n{BELOW}{below.partition(BELOW)[2]}" if BELOW in below else ""
    PAGE.write_text(f"{words}\n{page(results)}{others}", encoding="utf-8")
    print(f"written: {PAGE}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", default="orl,coil20,mpeg7,grocery")
    parser.add_argument("--root")
    parser.add_argument(
        "--only", default="", help="measure the tables with one of these words in their title"
    )
    options = parser.parse_args()
    results: dict[str, dict[str, Any]] = {}
    if options.only:
        results = json.loads((RESULTS / "cas_ablation.json").read_text(encoding="utf-8"))["results"]
    for name in options.datasets.split(","):
        figures = alone(measure, name, options.root, options.only.split(","))
        results[name] = {title: f for title, f in results.get(name, {}).items() if title in TABLES} | figures
    save("cas_ablation", {"results": results})
    write_page(results)


if __name__ == "__main__":
    main()
