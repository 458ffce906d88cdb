"""The ablations of the CAS paper on real features (tables 5, 6, 8, 9, figures 3 and 4) as a Markdown page.

    python -m benchmarks.cas.ablation [--datasets orl,coil20,mpeg7,grocery,cub_last100] [--root DATA]

Every item is a query for the rest of its class, mAP in percent. The tables of the paper have no shortest
paths, so they are off here (geodesic=False), except where a row says otherwise.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from foldwalk import datasets, rerank
from harness import RESULTS, alone, save

TABLES: dict[str, dict[str, dict[str, Any]]] = {
    "Similarity and clusters (table 5)": {
        f"{kind} + {clusters}": {"similarity": kind, "clusters": clusters}
        for clusters in ("neighbors", "reciprocal")
        for kind in ("original", "one_sided", "bidirectional")
    },
    "Smoothing (figure 3)": {
        "nothing": {"smoothing": "none"},
        "average over the nearest": {"smoothing": "average"},
        "guided by the neighbours": {},
    },
    "Distance of rows (table 6)": {
        name: {"distance": name}
        for name in ("similarity", "euclidean", "cosine", "jaccard", "jensen_shannon")
    },
    "Core size, trusted_k = k2 (table 8)": {f"{k}": {"trusted_k": k} for k in (2, 3, 4, 5, 6, 7, 8, 9, 10)},
    "Weight of the plain distance, omega (table 9)": {
        f"{omega}": {"omega": omega} for omega in (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
    },
    "Cluster size, cluster_k = k1 (figure 4)": {
        f"{k}": {"cluster_k": k} for k in (5, 10, 20, 40, 60, 80, 100)
    },
    "The same sizes for manifold ranking, k": {f"{k}": {"k": k} for k in (5, 10, 20, 40, 60, 80, 100)},
    "Solver": {name: {"solver": name} for name in ("ten_steps", "resolvent")},
    "Reliability r of eq. 13": {name: {"reliability": name} for name in ("diagonal", "block")},
    "Shortest paths": {
        "without": {},
        "geodesic_k = 10": {"geodesic": True, "geodesic_k": 10},
        "geodesic_k = 25": {"geodesic": True},
        "geodesic_k = 100": {"geodesic": True, "geodesic_k": 100},
    },
}


def measure(name: str, root: str | None) -> dict[str, Any]:
    data = datasets.load(name, root=root)

    def score(method: str, **parameters: Any) -> float:
        ranking = rerank.create(method, **parameters).fit(data.gallery).rank_self(top=len(data.gallery))
        return round(100 * data.protocol.evaluate(ranking)["mAP"], 2)

    figures: dict[str, Any] = {"plain": score("plain")}
    for title, rows in TABLES.items():
        method, common = ("manifold_ranking", {}) if "manifold" in title else ("cas", {"geodesic": False})
        figures[title] = {label: score(method, **{**common, **row}) for label, row in rows.items()}
    return figures


def page(results: dict[str, dict[str, Any]]) -> str:
    names = list(results)
    head = f"| | {' | '.join(names)} |\n|---|{'---|' * len(names)}\n"
    plain = f"| *plain search* | {' | '.join(format(results[n]['plain'], '.2f') for n in names)} |\n"
    parts = []
    for title, rows in TABLES.items():
        lines = ""
        best = [max(results[n][title].values()) for n in names]
        for label in rows:
            values = [results[n][title][label] for n in names]
            cells = [f"**{v:.2f}**" if v == b else f"{v:.2f}" for v, b in zip(values, best, strict=True)]
            lines += f"| {label} | {' | '.join(cells)} |\n"
        parts.append(f"### {title}\n\n{head}{plain}{lines}")
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", default="orl,coil20,mpeg7,grocery")
    parser.add_argument("--root")
    options = parser.parse_args()
    results = {}
    for name in options.datasets.split(","):
        results[name] = alone(measure, name, options.root)
        print(name, results[name], flush=True)
    save("cas_ablation", {"results": results})
    target = Path(RESULTS / "cas_ablation.md")
    target.write_text(page(results), encoding="utf-8")
    print(f"written: {target}")


if __name__ == "__main__":
    main()
