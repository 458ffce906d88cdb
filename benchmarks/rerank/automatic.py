"""`auto` beside every method with its defaults, on every collection at hand: mAP and R@1, no labels used.

    python -m benchmarks.rerank.automatic [--root DATA] [--collections 'orl;lion'] [--methods auto,plain,...]
    python -m benchmarks.rerank.automatic --table

Collections are cut to 2,000 items by whole classes; every item is a query for the rest of its class. Beside
the sets themselves: their classes thinned to 2, 3, 5 and 8 items, and synthetic manifolds with three levels
of noise and two sizes of classes. Rows that the result has already are kept; `--table` prints what is there:
the gain over plain search of each form of `auto`, of CAS, and of the best method by hindsight.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from foldwalk import datasets, rerank
from foldwalk.core.seeds import generator
from foldwalk.datasets.sets.synthetic import synthetic
from harness import RESULTS, save

NAME = "automatic"
MOST_ITEMS = 2_000
SETS = (
    *("orl", "coil20", "mpeg7", "grocery", "cub_first100", "cub_last100", "czoo", "lion", "emoji4"),
    *("digits", "orl:pixels"),
)
THINNED, KEPT = ("orl", "mpeg7", "grocery", "cub_last100"), (2, 3, 5, 8)
NOISE, CLASSES = (0.3, 0.6, 0.9), (12, 120)
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "auto": ("auto", {}),
    "auto effort=low": ("auto", {"effort": "low"}),
    "auto views=raw": ("auto", {"views": "raw"}),
}
BEFORE = "auto before"  # rows of an earlier rule, kept: six answers of CAS in all views, whatever they show
Items = tuple[np.ndarray, np.ndarray]


def collections(root: str | None) -> Iterator[tuple[str, Callable[[], Items]]]:
    for name in SETS:
        yield name, partial(whole, name, root)
    for name in THINNED:
        for kept in KEPT:
            yield f"{name}, classes of {kept}", partial(thinned, name, kept, root)
    for noise in NOISE:
        for classes in CLASSES:
            yield f"synthetic, noise {noise}, {classes} classes", partial(noisy, noise, classes)


def whole(name: str, root: str | None) -> Items:
    """A set, cut by whole classes."""
    data = datasets.load(name, root=root)
    rows, labels = cut(np.asarray(data.labels))
    return np.asarray(data.gallery)[rows], labels


def cut(classes: np.ndarray) -> Items:
    """The rows of as many whole classes as fit, drawn at random, and their labels."""
    labels = np.unique(classes, return_inverse=True)[1]
    kept: list[np.ndarray] = []
    for label in generator(0, "whole classes").permutation(labels.max() + 1):
        members = np.flatnonzero(labels == label)
        if sum(map(len, kept)) + len(members) <= MOST_ITEMS:
            kept.append(members)
    rows = np.sort(np.concatenate(kept))
    return rows, labels[rows]


def thinned(name: str, kept: int, root: str | None) -> Items:
    """So many items of every class that has them, drawn at random."""
    items, labels = whole(name, root)
    rng = generator(0, "thinned classes")
    members = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    rows = np.sort(np.concatenate([rng.choice(m, kept, replace=False) for m in members if len(m) >= kept]))
    return items[rows], labels[rows]


def noisy(noise: float, classes: int) -> Items:
    """Manifolds without distractors; `noise` is its length, that of a vector being one."""
    data = synthetic(1_500, 128, queries=1, clusters=classes, distractors=0)
    gallery, labels = np.asarray(data.gallery), np.asarray(data.labels)
    more = generator(0, "noise").normal(size=gallery.shape) * (noise / gallery.shape[1] ** 0.5)
    return (gallery + more).astype(np.float32), labels


def figures(ids: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """mAP and R@1 in percent, items that are alone in their class left out as queries."""
    precisions, first = [], []
    for row, label in zip(ids, labels, strict=True):
        relevant = labels[row] == label
        places = np.flatnonzero(relevant) + 1
        if len(places):
            precisions.append((np.arange(1, len(places) + 1) / places).mean())
            first.append(relevant[0])
    return {"mAP": round(100 * float(np.mean(precisions)), 2), "R@1": round(100 * float(np.mean(first)), 2)}


def measure(items: np.ndarray, labels: np.ndarray, name: str) -> dict[str, Any]:
    method, parameters = FORMS.get(name, (name, {}))
    began = time.process_time()
    fitted = rerank.create(method, **parameters).fit(items)
    ranking = fitted.rank_self(top=len(items) - 1)
    seconds = time.process_time() - began
    return figures(ranking.ids, labels) | {"note": ranking.note, "cpu_s": round(seconds, 2)}


def untrained() -> list[str]:
    return [name for name in rerank.names() if not rerank.describe(name).needs_training and name != "auto"]


def gains(rows: dict[str, Any], name: str) -> tuple[float, float]:
    return tuple(rows[name][figure] - rows["plain"][figure] for figure in ("mAP", "R@1"))  # type: ignore[return-value]


def shown(gain: tuple[float, float]) -> str:
    text = f"{gain[0]:+.1f} ({gain[1]:+.1f})".replace("-", "−")
    return f"**−** {text}" if gain[0] < 0 else text


def table(results: dict[str, dict[str, Any]]) -> str:
    """Gains over plain search by collection, then those of every method on average: mAP, R@1 in brackets."""
    columns = [*FORMS, BEFORE, "cas"]
    lines = [f"| collection | plain | {' | '.join(columns)} | best method by hindsight |"]
    lines.append("|---|---|" + "---|" * (len(columns) + 1))
    others = [name for name in untrained() if all(name in rows for rows in results.values())]
    for collection, rows in results.items():
        plain = f"{rows['plain']['mAP']:.1f} ({rows['plain']['R@1']:.1f})"
        best = max(others, key=lambda name, rows=rows: rows[name]["mAP"])
        cells = [shown(gains(rows, name)) for name in columns]
        cells.append(f"`{best}` {shown(gains(rows, best))}")
        lines.append(f"| {collection} | {plain} | {' | '.join(cells)} |")
    every = {name: np.array([gains(rows, name) for rows in results.values()]) for name in [*columns, *others]}
    best_gain = np.mean([max(gains(rows, name)[0] for name in others) for rows in results.values()])
    lines += [
        "",
        "| method | mean | worst in mAP | worst in R@1 | collections below plain |",
        "|---|---|---|---|---|",
    ]
    for name in sorted(every, key=lambda name: -every[name][:, 0].mean()):
        found = every[name]
        mean = shown((found[:, 0].mean(), found[:, 1].mean()))
        below = int((found[:, 0] < 0).sum())
        lines.append(f"| `{name}` | {mean} | {found[:, 0].min():+.1f} | {found[:, 1].min():+.1f} | {below} |")
    share = every["auto"][:, 0].mean() / best_gain
    lines += [
        "",
        f"Best method of each collection by hindsight: {best_gain:+.2f} on average; auto has {share:.0%}.",
    ]
    return "\n".join(lines).replace(": -", ": −").replace("| -", "| −")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root")
    parser.add_argument("--collections", default="")
    parser.add_argument("--methods", default="")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    target = RESULTS / f"{NAME}.json"
    results: dict[str, Any] = json.loads(target.read_text())["results"] if target.exists() else {}
    if options.table:
        print(table(results))
        return
    methods = options.methods.split(",") if options.methods else ["plain", *FORMS, *untrained()[1:]]
    wanted = options.collections.split(";") if options.collections else None
    for collection, load in collections(options.root):
        if wanted and collection not in wanted:
            continue
        items, labels = load()
        rows = results.setdefault(collection, {})
        for name in methods:
            if name not in rows:
                rows[name] = measure(items, labels, name)
                print(collection, name, rows[name], flush=True)
        save(NAME, {"results": results})


if __name__ == "__main__":
    main()
