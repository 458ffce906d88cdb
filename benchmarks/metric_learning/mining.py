"""How long mining takes: all of CUB's training pictures, and 1,000 anchors of 25,000 and 100,000 items.

python -m benchmarks.metric_learning.mining --root DATA
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from foldwalk import datasets
from foldwalk.core.vectors import Vectors
from foldwalk.learn.mining import ManifoldMiner
from foldwalk.learn.mining.graph import manifold_neighbors, mutual_graph, random_anchors
from foldwalk.neighbors import knn_graph
from harness import Clock, alone, save


def cub(root: Path | None) -> dict[str, Any]:
    data = datasets.load("cub_first100", root=root)
    assert data.gallery is not None
    ManifoldMiner().fit(data.gallery[:300])  # compiles
    with Clock() as clock:
        miner = ManifoldMiner().fit(data.gallery)
    print(miner.report(data.labels))
    return {**clock.figures(), **miner.report(data.labels).as_dict()}


def clouds(items: int, dim: int = 32) -> np.ndarray:
    """Fifty items each."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(items // 50, dim))
    return centres[rng.integers(len(centres), size=items)] + 0.5 * rng.normal(size=(items, dim))


def large(items: int, anchors: int = 1000) -> dict[str, Any]:
    """Clouds; how long their neighbours take is told apart."""
    x = clouds(items)
    manifold_neighbors(mutual_graph(knn_graph(Vectors.check(x[:500]).unit(), 30), 30), np.arange(9), 10)
    vectors = Vectors.check(x).unit()
    with Clock() as neighbours:
        nearest = knn_graph(vectors, 100)
    with Clock() as clock:
        graph = mutual_graph(nearest, 30)
        found = manifold_neighbors(graph, random_anchors(items, anchors, 0), 100)
    figures = {f"neighbours_{name}": value for name, value in neighbours.figures().items()}
    return {**figures, **clock.figures(), "items": items, "anchors": len(found), "edges": graph.edges}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path)
    parser.add_argument("--items", type=int, nargs="*", default=[25_000, 100_000])
    options = parser.parse_args()
    results = {"cub": alone(cub, options.root)}
    save("metric_learning_mining", results)
    for items in options.items:
        results[f"{items} items"] = alone(large, items)
        print(results[f"{items} items"], flush=True)
        save("metric_learning_mining", results)


if __name__ == "__main__":
    main()
