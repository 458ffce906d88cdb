"""GRAD-Net measured: ORL by seeds, seen and unseen queries, the choice of k, how many epochs are enough.

    python -m benchmarks.gradnet.tables orl|queries|choice|epochs [--datasets a,b] [--seeds 3] [--root DATA]

Each table is written to benchmarks/results/gradnet_<table>.json as it grows, so a run may be cut short; rows
that are there already are kept when it is started again. `--rows TEXT` measures only rows whose name has the
text. Labels judge; nothing is chosen by them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from foldwalk import datasets, rerank
from foldwalk.core import Ranking, Vectors
from foldwalk.evaluate import QueryGallery
from foldwalk.graph import anchor_graph
from foldwalk.learn import GradNet
from foldwalk.neighbors.exact import exact_search
from harness import RESULTS, save

Rows = Iterator[tuple[str, Callable[[], dict[str, Any]]]]
SHOWN = ("mAP", "R@1", "bullseye@15", "bullseye@15+query")
CHOICES = (5, 7, 9, 11, 13, 15, 20)
WATCHED = (1, 2, 5, 10, 20, 30, 40, 60, 80, 100)


def figures(data: datasets.Dataset, ranking: Ranking) -> dict[str, Any]:
    measured = data.protocol.evaluate(ranking)
    return {key: round(100 * measured[key], 2) for key in SHOWN if key in measured}


def gallery_scores(data: datasets.Dataset, name: str, seed: int = 0, **parameters: Any) -> dict[str, Any]:
    """Every item a query for the rest of its class."""
    began = time.perf_counter()
    method = rerank.create(name, seed=seed, **parameters).fit(data.gallery)
    scores = figures(data, method.rank_self(top=len(data.gallery) - 1))
    if name == "gradnet":
        scores["k"] = method.model.k  # type: ignore[attr-defined]
    return scores | {"seconds": round(time.perf_counter() - began, 1)}


def by_seeds(data: datasets.Dataset, seeds: int, **parameters: Any) -> dict[str, Any]:
    """Mean and standard deviation over seeds of every figure of GRAD-Net."""
    runs = [gallery_scores(data, "gradnet", seed, **parameters) for seed in range(seeds)]
    keys = [key for key in runs[0] if key != "k"]
    means = {key: mean_and_deviation([run[key] for run in runs]) for key in keys}
    return means | {"k": [run["k"] for run in runs]}


def mean_and_deviation(values: Sequence[float]) -> list[float]:
    return [round(float(f(values)), 2) for f in (np.mean, np.std)]


def features_ranking(features: np.ndarray) -> Ranking:
    """Plain search among features, each item left out of its own answer."""
    vectors, n = Vectors(np.ascontiguousarray(features)).unit(), len(features)
    found = exact_search(vectors, vectors, n - 1, "cosine", np.arange(n))
    return Ranking(found.ids.astype(np.int64), found.similarities)


def orl(data: datasets.Dataset, seeds: int) -> Rows:
    for method in ("plain", "manifold_ranking", "eir", "cas"):
        yield method, partial(gallery_scores, data, method)
    unit = Vectors.check(data.gallery).unit()
    yield (
        "codes Z alone",
        lambda: figures(data, features_ranking(anchor_graph(unit, 100, 3, 0).weights.toarray())),
    )
    for k in ("auto", 15):
        yield f"gradnet k={k}", partial(by_seeds, data, seeds, k=k)


def queries(data: datasets.Dataset, splits: int) -> Rows:
    """Random splits: some items ask, the rest is the gallery; queries join the graph, or were never seen.

    A tenth asks; and, where every class is thinned to two items at random, one of each pair asks for the
    other in half and in a tenth of the classes. A tenth is 4 to 10 queries: there are four times as many
    splits of it. Mean and standard deviation over the splits.
    """
    labels = np.asarray(data.labels)
    yield from asked(data, splits, "a tenth", partial(tenth, labels))
    for share, times in ((0.1, 4), (0.5, 1)):
        yield from asked(data, times * splits, f"pairs, {share:.0%} ask", partial(pairs, labels, share))


Split = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


def tenth(labels: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    order = rng.permutation(len(labels))
    return np.sort(order[len(order) // 10 :]), order[: len(order) // 10]


def pairs(labels: np.ndarray, share: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two items of every class; the second of each pair asks in a share of the classes."""
    members = [np.flatnonzero(labels == name) for name in np.unique(labels)]
    two = np.array([rng.choice(m, 2, replace=False) for m in members if len(m) > 1])
    asking = rng.permutation(len(two))[: max(1, round(share * len(two)))]
    gallery = np.setdiff1d(two, two[asking, 1])
    return gallery, two[asking, 1]


def asked(data: datasets.Dataset, splits: int, which: str, split: Split) -> Rows:
    labels, every = np.asarray(data.labels), [split(np.random.default_rng(s)) for s in range(splits)]

    def measured(rank: Callable[[int, np.ndarray, np.ndarray], dict[str, Ranking]]) -> dict[str, Any]:
        scores: dict[str, list[float]] = {}
        for seed, (rows, queries) in enumerate(every):
            protocol = QueryGallery(labels[queries], labels[rows])
            for way, ranking in rank(seed, data.gallery[queries], data.gallery[rows]).items():
                scores.setdefault(way, []).append(round(100 * protocol.evaluate(ranking)["mAP"], 2))
        return {way: {"mAP": mean_and_deviation(s), "splits": s} for way, s in scores.items()}

    def joined(name: str, seed: int, queries: np.ndarray, gallery: np.ndarray) -> dict[str, Ranking]:
        return {"joined": rerank.create(name, seed=seed).rerank(queries, gallery, len(gallery))}

    def unseen(name: str, _: int, queries: np.ndarray, gallery: np.ndarray) -> dict[str, Ranking]:
        return {"unseen": rerank.create(name).fit(gallery).rank(queries, len(gallery))}

    def by_network(seed: int, queries: np.ndarray, gallery: np.ndarray) -> dict[str, Ranking]:
        """One training, and every way for a query into it."""
        net, top = GradNet(seed=seed).fit(gallery), len(gallery)
        once, twice = (
            GradNet(unseen="expand", expansions=e).adopt(net.vectors, net.features, net.k) for e in (1, 2)
        )
        return {
            "forward": net.rank(queries, top),
            "QFE": once.rank(queries, top),
            "QFE x 2": twice.rank(queries, top),
        }

    for name in ("plain", "eir", "cas"):
        yield f"{which}: {name}, unseen", partial(measured, partial(unseen, name))
    yield f"{which}: gradnet, unseen", partial(measured, by_network)
    for name in ("eir", "cas", "gradnet"):
        yield f"{which}: {name}, joined", partial(measured, partial(joined, name))


def choice(data: datasets.Dataset, seeds: int) -> Rows:
    """mAP by k, and the k that would have been chosen."""
    yield "plain", partial(gallery_scores, data, "plain")
    for k in ("auto", *CHOICES):
        yield f"k={k}", partial(by_seeds, data, seeds, k=k)


def epochs(data: datasets.Dataset, seeds: int) -> Rows:
    """What is reached on the way through a training of 100 epochs, one codebook, one round."""

    def curve(seed: int) -> dict[str, Any]:
        reached: dict[str, Any] = {}

        def listen(epoch: Any) -> None:
            if epoch.number in WATCHED:
                terms = {"local": round(epoch.local, 4), "global": round(epoch.global_, 4)}
                reached[str(epoch.number)] = figures(data, features_ranking(epoch.features())) | terms

        GradNet(seed=seed, epochs=max(WATCHED), codebooks=1, rounds=1).fit(data.gallery, listener=listen)
        return reached

    for seed in range(seeds):
        yield f"seed {seed}", partial(curve, seed)


SMALL = ["orl:pixels", "orl", "lion", "digits", "coil20", "mpeg7"]
TABLES = {
    "orl": (orl, ["orl:pixels"], 5),
    "queries": (queries, ["orl", "mpeg7", "grocery", "cub_last100"], 5),
    "choice": (choice, SMALL, 1),
    "epochs": (epochs, ["orl:pixels", "digits", "coil20"], 1),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--datasets", default="")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--rows", default="")
    parser.add_argument("--root")
    options = parser.parse_args()
    table, names, seeds = TABLES[options.table]
    for name in options.datasets.split(",") if options.datasets else names:
        data = datasets.load(name, root=options.root)
        rows = ((row, measure) for row, measure in table(data, options.seeds or seeds) if options.rows in row)
        fill(f"gradnet_{options.table}", name, rows)


def fill(table: str, dataset: str, rows: Rows) -> None:
    """Measure the rows that the table does not have yet, and save after each."""
    target = RESULTS / f"{table}.json"
    results: dict[str, Any] = json.loads(target.read_text())["results"] if target.exists() else {}
    for row, measure in rows:
        label = f"{dataset}, {row}"
        if label not in results:
            results[label] = measure()
            print(label, results[label], flush=True)
            save(table, {"results": results})


if __name__ == "__main__":
    main()
