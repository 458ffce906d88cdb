"""The strongest chain between two items: our search, which stops at its target, beside scipy's, which cannot.

    python -m benchmarks.index.chain [--side 1000]

A torus of side x side items, each joined to the 48 around it, similarities falling with the distance and
uneven. scipy gets the lengths of all steps for nothing; the chains of both are compared by their length.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from foldwalk.index.graph.chain import strongest_chain
from harness import Clock, save

REACH = 3
REPEATS = 3


def torus(side: int) -> sparse.csr_array:
    """The joined items; a similarity is the same in both directions."""
    rng = np.random.default_rng(0)
    here = np.arange(side * side, dtype=np.int32).reshape(side, side)
    steps = range(-REACH, REACH + 1)
    ahead = [(down, right) for down in steps for right in steps if (down, right) > (0, 0)]
    others, similarities = [], []
    for down, right in ahead:
        weights = np.exp(-0.05 * np.hypot(down, right) * rng.uniform(0.5, 1.5, here.shape)).astype(np.float32)
        others += [np.roll(here, (-down, -right), (0, 1)), np.roll(here, (down, right), (0, 1))]
        similarities += [weights, np.roll(weights, (down, right), (0, 1))]
    indices = np.stack([part.ravel() for part in others], axis=1)
    data = np.stack([part.ravel() for part in similarities], axis=1)
    indptr = np.arange(len(indices) + 1, dtype=np.int32) * np.int32(len(others))
    return sparse.csr_array((data.ravel(), indices.ravel(), indptr), shape=(side * side, side * side))


def scipys(lengths: sparse.csr_array, start: int, target: int) -> list[int]:
    before = dijkstra(lengths, indices=start, return_predecessors=True)[1]
    chain = [target]
    while chain[-1] != start:
        chain.append(int(before[chain[-1]]))
    return chain[::-1]


def length(lengths: sparse.csr_array, chain: list[int]) -> float:
    return float(sum(lengths[a, b] for a, b in pairwise(chain)))


def measure(side: int) -> dict[str, Any]:
    joined = torus(side)
    lengths = sparse.csr_array((-np.log(joined.data.astype(np.float64)), joined.indices, joined.indptr))
    start, first_step = np.array([0]), np.ones(1, np.float32)
    strongest_chain(joined, start, first_step, 1)  # compiles
    figures: dict[str, Any] = {"items": joined.shape[0], "edges": joined.nnz}
    for name, target in (("near", 5 * side + 5), ("far", side // 2 * side + side // 2)):
        ways = {
            "ours": lambda target=target: strongest_chain(joined, start, first_step, target),
            "scipy": lambda target=target: scipys(lengths, 0, target),
        }
        for way, find in ways.items():
            runs = []
            for _ in range(REPEATS):
                with Clock() as clock:
                    chain = find()
                runs.append(clock.figures())
            fastest = min(runs, key=lambda run: run["cpu_s"])
            figures[f"{name}, {way}"] = fastest | {"steps": len(chain) - 1, "length": length(lengths, chain)}
            print(name, way, figures[f"{name}, {way}"])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=1000)
    save("chain", measure(parser.parse_args().side))


if __name__ == "__main__":
    main()
