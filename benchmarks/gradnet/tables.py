"""GRAD-Net measured: ORL by seeds, seen and unseen queries, the choice of k, how many epochs are enough.

    python -m benchmarks.gradnet.tables orl|queries|choice|epochs [--datasets a,b] [--seeds 3] [--root DATA]

Each table is written to benchmarks/results/gradnet_<table>.json as it grows, so a run may be cut short; rows
that are there already are kept when it is started again. Labels judge; nothing is chosen by them.
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


def queries(data: datasets.Dataset, seeds: int) -> Rows:
    """Every tenth item (at random) is a query: first one that joins the graph, then one never seen.

    GRAD-Net: mean and standard deviation over the seeds.
    """
    asked = np.zeros(len(data.gallery), bool)
    asked[np.random.default_rng(0).permutation(len(asked))[: len(asked) // 10]] = True
    labels = np.asarray(data.labels)
    protocol = QueryGallery(labels[asked], labels[~asked])
    gallery, held_out = data.gallery[~asked], data.gallery[asked]

    def score(ranking: Ranking) -> float:
        return round(100 * protocol.evaluate(ranking)["mAP"], 2)

    def joined(name: str, seed: int = 0) -> float:
        return score(rerank.create(name, seed=seed).rerank(held_out, gallery, len(gallery)))

    def unseen(name: str) -> dict[str, float]:
        return {"mAP": score(rerank.create(name).fit(gallery).rank(held_out, len(gallery)))}

    def expanded(seed: int) -> tuple[int, float, float]:
        once = GradNet(seed=seed).fit(gallery)
        twice = GradNet(expansions=2).adopt(once.vectors, once.features, once.k)
        return once.k, score(once.rank(held_out, len(gallery))), score(twice.rank(held_out, len(gallery)))

    def expanded_by_seeds() -> dict[str, Any]:
        k, once, twice = zip(*map(expanded, range(seeds)), strict=True)
        return {"k": k, "QFE": mean_and_deviation(once), "QFE x 2": mean_and_deviation(twice)}

    for name in ("plain", "eir", "cas"):
        yield f"joined, {name}", lambda name=name: {"mAP": joined(name)}
    yield (
        "joined, gradnet",
        lambda: {"mAP": mean_and_deviation([joined("gradnet", seed) for seed in range(seeds)])},
    )
    for name in ("eir", "cas"):
        yield f"unseen, {name}", partial(unseen, name)
    yield "unseen, gradnet", expanded_by_seeds


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
    "queries": (queries, ["grocery", "coil20", "mpeg7", "cub_last100"], 3),
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
    parser.add_argument("--root")
    options = parser.parse_args()
    table, names, seeds = TABLES[options.table]
    for name in options.datasets.split(",") if options.datasets else names:
        data = datasets.load(name, root=options.root)
        fill(f"gradnet_{options.table}", name, table(data, options.seeds or seeds))


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
