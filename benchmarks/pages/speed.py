"""The measurements in benchmarks/results/*.json as the page docs/speed.md, and the plot beside it.

python -m benchmarks.pages.speed
"""

from __future__ import annotations

import json
import shutil
from typing import Any

from harness import RESULTS, ROOT

DOCS = ROOT / "docs"


def load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return content


def on(name: str) -> str:
    """The processor of a measurement."""
    return f"Processor: {load(name)['run']['cpu']}."


def rows(head: list[str], lines: list[list[Any]]) -> str:
    text = f"| {' | '.join(head)} |\n|{'---|' * len(head)}\n"
    return text + "".join(f"| {' | '.join(str(cell) for cell in line)} |\n" for line in lines)


def seconds(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def knn() -> str:
    content = load("knn_graph")
    lines = [
        [
            f"{row['n']:,}",
            *(f"{seconds(row[w]['wall_s'])} s, {row[w]['peak_mb']:.0f} MB" for w in ("exact", "flat_faiss")),
            f"{seconds(row['descent']['wall_s'])} s, {row['descent']['peak_mb']:.0f} MB",
            row["descent"]["recall"],
            row["faiss_over_exact"],
        ]
        for row in content["rows"]
    ]
    table = rows(["items", "exact", "flat FAISS", "descent", "its recall", "FAISS / exact"], lines)
    return f"{table}\nGrowth exponents over n: {content['growth_exponent']}.\n"


def manifold_ranking() -> str:
    content = load("manifold_ranking")
    lines = [
        [
            f"{row['n']:,}",
            f"{seconds(row['fit']['wall_s'])} s, {row['fit']['peak_mb']:.0f} MB",
            f"{seconds(row['rank']['wall_s'])} s, {row['rank']['peak_mb']:.0f} MB",
            f"{100 * row['plain_mAP']:.1f} -> {100 * row['mAP']:.1f}",
            f"{seconds(row['dense']['wall_s'])} s, {row['dense_over_ours']} times" if "dense" in row else "",
        ]
        for row in content["rows"]
    ]
    table = rows(["items", "fit (k-NN graph included)", "100 queries", "mAP", "dense closed form"], lines)
    return f"{table}\nGrowth exponents over n: {content['growth_exponent']}.\n"


def cas() -> str:
    content = load("cas_scaling")
    lines = [
        [
            f"{row['n']:,}",
            f"{seconds(row['wall_s'])} s",
            f"{seconds(row['graph_s'])} s ({row['graph_way']}, recall {row['graph_recall']})",
            f"{seconds(row['walk_s'])} s",
            f"{seconds(row['rank_s'])} s",
            f"{row['peak_mb']:,.0f} MB",
            f"{100 * row['plain_mAP']:.1f} -> {100 * row['mAP']:.1f}",
            f"{seconds(row['dense']['wall_s'])} s, {row['dense']['peak_mb']:,.0f} MB: "
            f"{row['dense_over_ours']} times"
            if "dense" in row
            else "",
        ]
        for row in content["rows"]
    ]
    head = ["items", "all", "k-NN graph", "walk", "100 queries", "peak over the base", "mAP", "dense numpy"]
    text = rows(head, lines) + f"\nGrowth exponents from 10,000 items on: {content.get('growth_exponent')}.\n"
    text += "\n![Seconds and memory over the number of items](images/cas_scaling.png)\n"
    if "latency" in content:
        late = content["latency"]
        text += (
            f"\nA single unseen query against {late['n']:,} fitted items, top {late['top']}: median "
            f"{late['cas_p50_ms']} ms (99th percentile {late['cas_p99_ms']} ms). A FAISS HNSW search of the "
            f"same gallery alone: {late['hnsw_p50_ms']} ms ({late['hnsw_p99_ms']} ms). "
            f"Ratio {late['cas_over_hnsw']}.\n"
        )
    return text


def every_method() -> str:
    """CPU seconds of each method by n, its growth, and what it costs that queries stay unseen."""
    content = load("rerank_scaling")
    of = {(row["method"], row["n"]): row for row in content["rows"]}
    methods = list(dict.fromkeys(row["method"] for row in content["rows"]))
    sizes = [row["n"] for row in content["graph"]]
    numpy_at = {row["n"]: row for row in content["plain_numpy_k_reciprocal"]}
    compared = max(numpy_at)

    def cpu(name: str, n: int) -> str:
        row = of.get((name, n))
        return (
            seconds(row["walk"]["cpu_s"]) if row and "walk" in row else "-" if row is None else row["failure"]
        )

    lines = []
    for name in methods:
        row = of.get((name, compared), {})
        whole, unseen = row.get("whole"), row.get("unseen")
        more = [""] * 4
        if whole and unseen:
            more = [
                f"{seconds(whole['cpu_s'])} s, {whole['peak_mb']:.0f} MB",
                f"{numpy_at[compared]['cpu_s'] / whole['cpu_s']:.1f}",
                f"{100 * whole['mAP']:.1f}",
                f"{100 * unseen['mAP']:.1f}",
            ]
        lines.append(
            [
                f"`{name}`",
                *(cpu(name, n) for n in sizes),
                content["growth_of_cpu_from_10000"][name] or "",
                *more,
            ]
        )
    at = f"{compared:,}"
    head = ["method", *(f"{n:,}" for n in sizes), "growth", f"whole, {at}", "numpy / whole", "mAP", "unseen"]
    graphs = ", ".join(f"{seconds(row['cpu_s'])} s at {row['n']:,}" for row in content["graph"])
    numpy_k = ", ".join(
        f"{seconds(row['cpu_s'])} s and {row['peak_mb']:,.0f} MB at {n:,}" for n, row in numpy_at.items()
    )
    steep = ", ".join(
        f"`{name}`" for name, g in content["growth_of_cpu_from_10000"].items() if (g or 0) > 1.3
    )
    growth = (
        f"Growth above 1.3, more than is wanted: {steep}."
        if steep
        else "In this run no method grows faster than n^1.3."
    )
    return (
        f"{rows(head, lines)}\nThe graph itself (50 neighbours): {graphs}. "
        f"Plain numpy k-reciprocal: {numpy_k}.\n\n{growth}\n"
    )


# CPU seconds of the authors' own programs on sets of the same kind, measured on another machine of two cores.
AUTHORS = {
    ("k_reciprocal", 10_000): 25,
    ("ecn", 10_000): 12,
    ("gnn", 10_000): 69,
    ("dfs", 10_000): 5.2,
    ("lhrr", 10_000): 15,
    ("rdp", 5_000): 205,
    ("cas", 5_000): 286,
}


def beside_authors() -> str:
    of = {(row["method"], row["n"]): row for row in load("rerank_scaling")["rows"]}
    alone = {(row["method"], row["n"]): row for row in load("rerank_one_thread")["rows"]}

    def line(title: str, n: int, theirs: float, both: float, one: float) -> list[Any]:
        ratios = [f"{theirs / both:.0f}", seconds(one), f"{theirs / one:.0f}"]
        return [title, f"{n:,}", theirs, seconds(both), *ratios]

    lines = [
        line(f"`{name}`", n, theirs, of[name, n]["whole"]["cpu_s"], alone[name, n]["rerank_cpu_s"])
        for (name, n), theirs in AUTHORS.items()
    ]
    offline = of["eir", 10_000]["unseen"]["fit"]["cpu_s"], alone["eir", 10_000]["fit_cpu_s"]
    lines.append(line("`eir`, offline part", 10_000, 36, *offline))
    head = ["method", "items", "authors' program, CPU s", "foldwalk, whole, CPU s", "ratio"]
    return rows([*head, "on one thread", "ratio"], lines)


def measured_again() -> str:
    names = load("rerank_scaling").get("measured_again", [])
    listed = " and ".join(f"`{name}`" for name in names)
    return f" {listed} were measured once more, after the others." if names else ""


def main() -> None:
    run = load("cas_scaling")["run"]
    text = f"""# Speed and memory

Measured beside a baseline in the same run, on {run["cores"]} cores, Python {run["python"]}. Machines differ
(each section names its processor) and are shared: the ratios and the growth matter more than the seconds.
Vectors are in memory and kernels compiled before the clock starts; in the last section two gigabytes are
touched first as well, which the host of a virtual machine may have yet to hand over.
Peak memory: {run["peak_mb"]}.

## k-NN graph, k = 50, 256 dimensions

Exact: every product of two items computed once, the largest kept on the way. Flat FAISS: its exact index, up
to 20,000 rows, scaled beyond. Descent: the approximate way. `python -m benchmarks.speed.knn_graph`
{on("knn_graph")}

{knn()}
## Manifold ranking, 100 unseen queries, 256 dimensions

`python -m benchmarks.speed.manifold_ranking`; the dense closed form is plain numpy with n x n arrays.
{on("manifold_ranking")}

{manifold_ranking()}
## CAS, 100 queries that join the graph, {load("cas_scaling")["dim"]} dimensions

`python -m benchmarks.cas.scaling`; the dense form is CAS in plain numpy, written from the paper
(`yardsticks/dense_cas.py`). mAP: plain search -> CAS.
{on("cas_scaling")}

{cas()}
## Every method that needs no training

`python -m benchmarks.speed.methods`, 100 queries that join the graph. The columns by n are CPU seconds (both
cores added) from a known k-NN graph to the rankings; growth is their slope on logarithmic scales from
10,000 items on. "Whole" is everything from the vectors on, beside k-reciprocal encoding in plain numpy
(`yardsticks/dense_k_reciprocal.py`, n x n arrays) in the same run. mAP is that of queries that join the
graph; "unseen" that of a gallery fitted once, whose queries it has never seen. Up to 10,000 items the seconds
are the least of three runs, plain numpy's too.{measured_again()}
{on("rerank_scaling")}

{every_method()}
Methods that count distances from the farthest item get it with the exact graph up to 20,000 items; beyond,
256 of the items are looked at.

The authors' own programs took these CPU seconds on sets of the same kind, on another machine with two cores:
a scale, not a race. Work shared by two threads can cost more CPU seconds in all than on one:
`python -m benchmarks.speed.one_thread` measures the same on one thread.

{beside_authors()}"""
    (DOCS / "speed.md").write_text(text, encoding="utf-8")
    shutil.copy(RESULTS / "cas_scaling.png", DOCS / "images" / "cas_scaling.png")
    print("written: docs/speed.md")


if __name__ == "__main__":
    main()
