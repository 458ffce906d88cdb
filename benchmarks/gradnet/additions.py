"""A collection that grows after GRAD-Net was trained: features by the model, by going on from it, or anew.

    python -m benchmarks.gradnet.additions [--datasets orl,lion] [--splits 2] [--root DATA]

Three quarters of the items are trained on, the others come later. Every item is a query for the rest of its
class; labels judge, nothing is chosen by them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.gradnet.tables import features_ranking, figures, mean_and_deviation
from foldwalk import datasets, rerank
from foldwalk.learn import GradNet
from harness import save

Features = Callable[[], np.ndarray]


def one_split(data: datasets.Dataset, split: int) -> dict[str, tuple[float, float]]:
    """mAP and seconds of each way to the features of all items."""
    order = np.random.default_rng(split).permutation(len(data.gallery))
    before, later = np.sort(order[len(order) // 4 :]), np.sort(order[: len(order) // 4])
    net = GradNet(seed=split).fit(data.gallery[before])

    def by_the_model() -> np.ndarray:
        features = np.zeros((len(order), net.features.shape[1]), np.float32)
        features[before], features[later] = net.features, net.transform(data.gallery[later])
        return features

    def tuned(epochs: int) -> np.ndarray:
        return GradNet(seed=split, epochs=epochs).fit(data.gallery, start=net).features

    ways: dict[str, Features] = {
        "by the model": by_the_model,
        "going on, 5 epochs": lambda: tuned(5),
        "going on, 30 epochs": lambda: tuned(30),
        "anew": lambda: GradNet(seed=split).fit(data.gallery).features,
    }
    return {name: _measured(data, way) for name, way in ways.items()}


def _measured(data: datasets.Dataset, way: Features) -> tuple[float, float]:
    began = time.perf_counter()
    features = way()
    seconds = time.perf_counter() - began
    return figures(data, features_ranking(features))["mAP"], seconds


def measure(data: datasets.Dataset, splits: int) -> dict[str, Any]:
    """Means and standard deviations over the splits; plain search beside them."""
    plain = rerank.create("plain").fit(data.gallery).rank_self(top=len(data.gallery) - 1)
    found = [one_split(data, split) for split in range(splits)]
    rows: dict[str, Any] = {"plain": {"mAP": figures(data, plain)["mAP"]}}
    for name in found[0]:
        rows[name] = {
            "mAP": mean_and_deviation([each[name][0] for each in found]),
            "seconds": mean_and_deviation([each[name][1] for each in found])[0],
        }
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", default="orl,lion")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--root")
    asked = parser.parse_args()
    results = {}
    for name in asked.datasets.split(","):
        results[name] = measure(datasets.load(name, root=asked.root), asked.splits)
        for way, row in results[name].items():
            print(f"{name:12} {way:20} {row}", flush=True)
        save("gradnet_additions", {"results": results})


if __name__ == "__main__":
    main()
