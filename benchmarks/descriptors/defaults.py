"""Which vectors are best: size x pooling x power or whitening on seven sets of pictures, and what each costs.

    python -m benchmarks.descriptors.defaults [--root DATA] [--kept FOLDER]
    python -m benchmarks.descriptors.defaults --table
    python -m benchmarks.descriptors.defaults --plot docs/images/vectors.png

Sets are cut to 2,000 pictures by whole classes; every picture is a query for the rest of its class. A picture
is described once per size (224c: its middle 7/8), its map pooled in every way, and the vectors kept in a
temporary folder. Sizes, as poolings, that are joined by + are sums of vectors of length one. `plain` ranks
all of them in four views, `auto` and `cas`, which take longer, the few of WALKED. Rows that the result has
already are kept. `--table` prints the means over sets, and for each set what would be chosen without it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.descriptors.pooled import FORMS, SETS, labels_of, milliseconds, vectors_of
from benchmarks.rerank.automatic import figures, measure
from foldwalk import views
from foldwalk.descriptors.pooling import unit
from harness import RESULTS, save

NAME = "descriptor_defaults"
SIZES = ("160", "224", "256", "320", "224c", "160+224", "160+256", "224+320")
POOLINGS = ("gap", "gem", "rmac", "gap+gem", "gap+rmac", "gem+rmac")
VIEWS = ("raw", "root", "w25", "w50")
DEFAULT = "224 gap"
WALKED = (
    *("224 gap", "224 gem", "224 rmac", "224 gem+rmac"),
    *("256 rmac", "160+224 rmac", "160+256 rmac", "224+320 rmac"),
)
METHODS = ("plain", "auto", "cas")
NAMED = {"224 gap": "effnet_lite0", "224 rmac": ":rmac", "224+320 rmac": ":fine"}
DEARER = (1.25, 2.0, 3.5)  # times the default's cost
Results = dict[str, dict[str, dict[str, Any]]]  # set, "size pooling view", method


def joined(parts: dict[str, dict[str, np.ndarray]], sizes: str, poolings: str) -> np.ndarray:
    """Vectors of length one: the sum over sizes of the sum over poolings."""
    found = []
    for size in sizes.split("+"):
        pooled = [unit(parts[size][pooling].astype(np.float32)) for pooling in poolings.split("+")]
        found.append(unit(np.sum(pooled, axis=0)))
    return unit(np.sum(found, axis=0))


def plain(vectors: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """All similarities at once: for so many rankings of so few items the quickest."""
    similarities = vectors @ vectors.T
    np.fill_diagonal(similarities, -np.inf)
    return figures(np.argsort(-similarities, axis=1)[:, :-1], labels)


def ranked_by(method: str, name: str, ways: list[str], wanted: tuple[str, ...], results: Results,
              options: argparse.Namespace) -> None:  # fmt: skip
    """Fill in what is missing of a set: every way in every wanted view."""
    rows = results.setdefault(name, {})
    if all(method in rows.get(f"{way} {view}", {}) for way, view in product(ways, wanted)):
        return
    labels = labels_of(name, options.root)
    parts = {form: vectors_of(name, form, options.root, options.kept) for form in FORMS}
    for way in ways:
        missing = [view for view in wanted if method not in rows.get(f"{way} {view}", {})]
        if not missing:
            continue
        items = joined(parts, *way.split())
        for view, seen in views.learn(missing, items).items():
            vectors = seen.see(items)
            found = plain(vectors, labels) if method == "plain" else measure(vectors, labels, method)
            rows.setdefault(f"{way} {view}", {})[method] = {key: found[key] for key in ("mAP", "R@1")}
            print(name, way, view, method, found, flush=True)
    save(NAME, {"milliseconds": options.spent, "results": results})


def mean(results: Results, way: str, method: str, figure: str = "mAP", without: str = "") -> float:
    """Over the sets; not a number where one is missing."""
    found = [rows.get(way, {}).get(method, {}).get(figure, np.nan)
             for name, rows in results.items() if name != without]  # fmt: skip
    return float(np.mean(found))


def cost(spent: dict[str, float], way: str) -> float:
    """Milliseconds from file to vector."""
    sizes, poolings = (part.split("+") for part in way.split()[:2])
    pooling = sum(spent[f"{size} {pooling}"] for size, pooling in product(sizes, poolings))
    return spent["decode"] + sum(spent[size] for size in sizes) + pooling


def left_out(results: Results, spent: dict[str, float], method: str, dearest: float) -> Iterator[str]:
    """What the other sets choose of raw vectors that cost so much at most, and what the set gains by it."""
    default = f"{DEFAULT} raw"
    known = [way for way in next(iter(results.values())) if way.endswith("raw")]
    known = [way for way in known if not np.isnan(mean(results, way, method))]
    affordable = [way for way in known if cost(spent, way) <= dearest * cost(spent, default)]
    yield f"\nRaw vectors of at most {dearest} times the default's cost\n"
    yield f"| left out | chosen for `{method}` by the others | their gain | its gain |\n|---|---|---|---|"
    for name in ("", *results):
        chosen = max(affordable, key=lambda way, name=name: mean(results, way, method, without=name))
        theirs = mean(results, chosen, method, without=name) - mean(results, default, method, without=name)
        own = results[name][chosen][method]["mAP"] - results[name][default][method]["mAP"] if name else np.nan
        yield f"| {name or 'none'} | {chosen} | {theirs:+.2f} | {'' if np.isnan(own) else f'{own:+.2f}'} |"


def table(results: Results, spent: dict[str, float]) -> Iterator[str]:
    """mAP of every way, the mean with R@1 in brackets, the best mean first."""
    for method in METHODS:
        ways = {way for rows in results.values() for way, row in rows.items() if method in row}
        yield f"\n| {method} | ms | mean | {' | '.join(results)} |\n|---|---|---|{'---|' * len(results)}"
        for way in sorted(ways, key=lambda way: -mean(results, way, method)):
            each = " | ".join(f"{rows[way][method]['mAP']:.1f}" for rows in results.values())
            both = f"{mean(results, way, method):.2f} ({mean(results, way, method, 'R@1'):.2f})"
            yield f"| {way} | {cost(spent, way):.1f} | {both} | {each} |"
        for dearest in DEARER:
            yield from left_out(results, spent, method, dearest)


def plot(results: Results, spent: dict[str, float], target: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(METHODS), figsize=(12, 4), layout="constrained")
    for axis, method in zip(axes, METHODS, strict=True):
        for poolings in POOLINGS:
            ways = [f"{sizes} {poolings}" for sizes in SIZES]
            points = [(cost(spent, way), mean(results, f"{way} raw", method)) for way in ways]
            axis.plot(*zip(*points, strict=True), "o", label=poolings)
        for way, variant in NAMED.items():
            point = cost(spent, way), mean(results, f"{way} raw", method)
            axis.plot(*point, "ks", fillstyle="none", markersize=11)
            axis.annotate(variant, point, xytext=(-2, 9), textcoords="offset points", ha="right")
        axis.set(title=method, xlabel="CPU ms per picture", ylabel="mAP, mean over seven sets")
        axis.grid(alpha=0.3)
        axis.margins(0.1)
        axis.set_xlim(left=-4)
    axes[0].legend(fontsize=8)
    figure.savefig(target, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root")
    parser.add_argument("--kept", type=Path, default=Path(tempfile.gettempdir()) / "foldwalk-pooled")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    target = RESULTS / f"{NAME}.json"
    stored: dict[str, Any] = json.loads(target.read_text()) if target.exists() else {}
    results: Results = stored.get("results", {})
    options.spent = stored.get("milliseconds") or milliseconds(options.root)
    if options.table:
        print("\n".join(table(results, options.spent)))
    elif options.plot:
        plot(results, options.spent, options.plot)
    else:
        ways = [f"{sizes} {poolings}" for sizes, poolings in product(SIZES, POOLINGS)]
        for name in SETS:
            ranked_by("plain", name, ways, VIEWS, results, options)
        for method, name in product(METHODS[1:], SETS):
            ranked_by(method, name, list(WALKED), ("raw",), results, options)


if __name__ == "__main__":
    main()
