"""GRAD-Net measured: ORL by seeds, seen and unseen queries beside other methods, table 4, the choice of k.

    python benchmarks/gradnet_tables.py orl|unseen|ablation|choice [--datasets a,b] [--seeds 3] [--root DATA]

Each table is written to benchmarks/results/gradnet_<table>.json as it grows, so a run may be cut short.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from foldwalk import datasets, rerank
from foldwalk.evaluate import QueryGallery
from harness import save

# Rows of table 4; the other values are the defaults, with k as chosen.
ABLATIONS: dict[str, dict[str, Any]] = {
    "base": {},
    "without local loss": {"local_weight": 0},
    "without global loss": {"global_weight": 0},
    "without l2 term": {"penalty": 0},
    "without Z": {"anchors": 0},
    "Z only": {"codes_only": True},
    "layers 1024,256,128,128": {"layer_sizes": "1024,256,128,128"},
    "layers 1024,256": {"layer_sizes": "1024,256"},
    "layers 512,128,64": {"layer_sizes": "512,128,64"},
    "first order only (GCN)": {"second_order": False},
    "last layer only": {"concatenate": False},
    "k = 8": {"k": 8},
    "k = 15": {"k": 15},
    "k = 20": {"k": 20},
    "k = 25": {"k": 25},
    "k = 32": {"k": 32},
    "k = 64": {"k": 64},
    "Gaussian": {"kernel": "gaussian"},
    "cosine": {"kernel": "cosine"},
    "batch 64": {"batch": 64, "epochs": 30, "learning_rate": 3e-4},
    "batch 256": {"batch": 256, "epochs": 60},
    "beta 1e5": {"beta": 1e5},
    "eq. 7 for I + S": {"renormalise": True},
    "untrained": {"epochs": 0},
}
CHOICES = (5, 7, 9, 11, 15, 20)


def gallery_scores(data: datasets.Dataset, name: str, seed: int = 0, **parameters: Any) -> dict[str, Any]:
    """Every item a query for the rest of its class."""
    began = time.perf_counter()
    method = rerank.create(name, seed=seed, **parameters).fit(data.gallery)
    figures = data.protocol.evaluate(method.rank_self(top=len(data.gallery) - 1))
    shown = ("mAP", "R@1", "bullseye@15", "bullseye@15+query")
    scores: dict[str, Any] = {key: round(100 * figures[key], 2) for key in shown if key in figures}
    if name == "gradnet":
        scores["k"] = method.model.k  # type: ignore[attr-defined]
    return scores | {"seconds": round(time.perf_counter() - began, 1)}


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and standard deviation over seeds of every figure."""
    keys = [key for key in runs[0] if key != "k"]
    means = {key: [round(float(f([run[key] for run in runs])), 2) for f in (np.mean, np.std)] for key in keys}
    return means | {"k": [run["k"] for run in runs if "k" in run]}


def orl(names: list[str], seeds: int, root: str | None) -> Iterator[tuple[str, Any]]:
    for name in names or ["orl:pixels"]:
        data = datasets.load(name, root=root)
        for method in ("plain", "manifold_ranking", "eir", "cas"):
            yield f"{name}, {method}", gallery_scores(data, method)
        for k in ("auto", 8, 15):
            runs = [gallery_scores(data, "gradnet", seed, k=k) for seed in range(seeds)]
            yield f"{name}, gradnet k={k}", summary(runs)


def unseen(names: list[str], seeds: int, root: str | None) -> Iterator[tuple[str, Any]]:
    """Seen: all items, leave-one-out. Unseen: every tenth item (at random) is kept out of the graph."""
    for name in names or ["coil20", "mpeg7", "grocery", "cub_last100"]:
        data = datasets.load(name, root=root)
        for method in ("plain", "eir", "cas"):
            yield f"{name}, seen, {method}", gallery_scores(data, method)
        yield f"{name}, seen, gradnet", summary([gallery_scores(data, "gradnet", s) for s in range(seeds)])
        held_out = np.zeros(len(data.gallery), bool)
        held_out[np.random.default_rng(0).permutation(len(held_out))[: len(held_out) // 10]] = True
        labels = np.asarray(data.labels)
        protocol = QueryGallery(labels[held_out], labels[~held_out])
        for method, parameters in (
            ("plain", {}), ("eir", {}), ("cas", {}), ("gradnet", {}), ("gradnet", {"expansions": 2}),
        ):  # fmt: skip
            fitted = rerank.create(method, **parameters).fit(data.gallery[~held_out])
            ranking = fitted.rank(data.gallery[held_out], top=int((~held_out).sum()))
            label = method if method != "gradnet" else f"gradnet, QFE x {parameters.get('expansions', 1)}"
            yield f"{name}, unseen, {label}", {"mAP": round(100 * protocol.evaluate(ranking)["mAP"], 2)}


def ablation(names: list[str], seeds: int, root: str | None) -> Iterator[tuple[str, Any]]:
    for name in names or ["orl:pixels", "grocery"]:
        data = datasets.load(name, root=root)
        for label, changed in ABLATIONS.items():
            runs = [gallery_scores(data, "gradnet", seed, **changed) for seed in range(seeds)]
            yield f"{name}, {label}", summary(runs)


def choice(names: list[str], seeds: int, root: str | None) -> Iterator[tuple[str, Any]]:
    """mAP by k, and the k that would have been chosen."""
    every = ["orl:pixels", "orl", "coil20", "mpeg7", "grocery", "lion", "czoo", "digits"]
    for name in names or every:
        data = datasets.load(name, root=root)
        yield f"{name}, plain", gallery_scores(data, "plain")
        for k in ("auto", *CHOICES):
            runs = [gallery_scores(data, "gradnet", seed, k=k) for seed in range(seeds)]
            yield f"{name}, k={k}", summary(runs)


TABLES = {"orl": (orl, 5), "unseen": (unseen, 1), "ablation": (ablation, 3), "choice": (choice, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--datasets", default="")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--root")
    options = parser.parse_args()
    table, seeds = TABLES[options.table]
    names = [name for name in options.datasets.split(",") if name]
    results: dict[str, Any] = {}
    for label, figures in table(names, options.seeds or seeds, options.root):
        results[label] = figures
        print(label, figures, flush=True)
        save(f"gradnet_{options.table}", {"seeds": options.seeds or seeds, "results": results})


if __name__ == "__main__":
    main()
