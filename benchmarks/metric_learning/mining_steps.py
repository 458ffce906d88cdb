"""How many steps of conjugate gradients the pools need: time, and how much of the exact pools is found.

    python -m benchmarks.metric_learning.mining_steps --root DATA

Exact are similarities in double precision, solved to a residual of 1e-9. Random anchors of CUB's training
pictures, and of 25,000 items in clouds.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.metric_learning.mining import clouds
from foldwalk import datasets
from foldwalk.core.graph import Graph
from foldwalk.core.types import Int32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.graph import normalise
from foldwalk.learn.mining.graph import manifold_neighbors, mutual_graph, random_anchors
from foldwalk.learn.mining.sets import difference, members
from foldwalk.neighbors import knn_graph
from foldwalk.rerank.order import Reached
from foldwalk.walk import solve_diffusion
from harness import Clock, alone, save

POSITIVE_K, NEGATIVE_K, GRAPH_K, ALPHA = 50, 100, 30, 0.99


def pools(by_walk: Int32Array, close: Int32Array, items: int) -> tuple[Int32Array, Int32Array]:
    """Eq. 5 and 6, whole."""
    nothing = np.zeros(by_walk.shape, np.float32)
    far = difference(
        by_walk[:, :POSITIVE_K], nothing[:, :POSITIVE_K], close[:, :POSITIVE_K], items, POSITIVE_K
    )
    return far[0], difference(close, nothing, by_walk, items, NEGATIVE_K)[0]


def share(found: Int32Array, exact: Int32Array, items: int) -> float:
    """Of the exact examples, those found."""
    return float(members(exact, found, items).sum() / (exact >= 0).sum())


def exact_neighbors(graph: Graph, anchors: IntArray, block: int = 64) -> Int32Array:
    transitions = normalise(graph, "symmetric").matrix.astype(np.float64)
    rows = []
    for start in range(0, len(anchors), block):
        own = anchors[start : start + block]
        restart = np.zeros((len(graph), len(own)))
        restart[own, np.arange(len(own))] = 1 - ALPHA
        similar = solve_diffusion(transitions, restart, ALPHA, 1e-9, 2000)
        dense = np.ascontiguousarray(similar.T, dtype=np.float32)
        rows.append(Reached.from_dense(dense, NEGATIVE_K, len(graph), own))
    return Reached.join(rows).ids


def compare(x: np.ndarray, anchors: IntArray, steps: list[int]) -> dict[str, Any]:
    vectors = Vectors.check(x).unit()
    nearest = knn_graph(vectors, NEGATIVE_K)
    graph, close = mutual_graph(nearest, GRAPH_K), nearest.ids[anchors]
    exact = pools(exact_neighbors(graph, anchors), close, len(x))
    manifold_neighbors(graph, anchors[:9], NEGATIVE_K)  # compiles
    lines: dict[str, Any] = {"items": len(x), "anchors": len(anchors), "edges": graph.edges}
    for count in steps:
        with Clock() as clock:
            by_walk = manifold_neighbors(graph, anchors, NEGATIVE_K, ALPHA, steps=count)
        both = zip(pools(by_walk.ids, close, len(x)), exact, strict=True)
        positives, negatives = (share(found, wanted, len(x)) for found, wanted in both)
        lines[f"{count} steps"] = {**clock.figures(), "positives": positives, "negatives": negatives}
        print(count, lines[f"{count} steps"], flush=True)
    return lines


def cub(root: Path | None, anchors: int, steps: list[int]) -> dict[str, Any]:
    data = datasets.load("cub_first100", root=root)
    assert data.gallery is not None
    return compare(data.gallery, random_anchors(len(data.gallery), anchors, 0), steps)


def large(items: int, anchors: int, steps: list[int]) -> dict[str, Any]:
    return compare(clouds(items), random_anchors(items, anchors, 0), steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path)
    parser.add_argument("--items", type=int, default=25_000)
    parser.add_argument("--anchors", type=int, default=512)
    parser.add_argument("--steps", type=int, nargs="+", default=[20, 30, 40])
    options = parser.parse_args()
    results = {"cub": alone(cub, options.root, options.anchors, options.steps)}
    save("metric_learning_mining_steps", results)
    results[f"{options.items} items"] = alone(large, options.items, options.anchors, options.steps)
    save("metric_learning_mining_steps", results)


if __name__ == "__main__":
    main()
