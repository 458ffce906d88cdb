"""Several vectors per picture: regional DFS beside one vector per picture, on real pictures.

    python -m benchmarks.descriptors.regional [--root DATA] [--datasets orl,mpeg7,coil20,grocery] [--every 1]

All vectors come from the same maps of EfficientNet-lite0: their mean (gap), the regions of R-MAC, and the sum
of those (rmac). Every picture is a query for the rest of its class; mAP in percent. Seconds include what is
compiled on first use.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from foldwalk import datasets, rerank
from foldwalk.core import Ranking
from foldwalk.descriptors import backbone, load_picture
from foldwalk.descriptors.pooling import gap, region_vectors
from foldwalk.evaluate import LeaveOneOut
from harness import Clock, save

AT_ONCE = 32
REGIONAL: dict[str, dict[str, Any]] = {
    "regions, gmp (default)": {},
    "regions, sum": {"pooling": "sum"},
    "regions, gmp, k = k_query = 200": {"k": 200, "k_query": 200},
}


def described(paths: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """The mean of each map, (n, d), and its regions, (n, regions, d)."""
    model = backbone("effnet_lite0")
    means, regions = [], []
    for first in range(0, len(paths), AT_ONCE):
        pictures = [
            load_picture(path, short_side=model.short_side) for path in paths[first : first + AT_ONCE]
        ]
        maps = model.maps(pictures)
        means.append(gap(maps))
        regions.append(region_vectors(maps))
    return np.concatenate(means), np.concatenate(regions)


def measure(name: str, root: str | None, every: int) -> dict[str, Any]:
    loaded = datasets.load(name, root=root, kind="pictures")
    assert loaded.gallery_paths is not None
    assert loaded.labels is not None
    order = np.argsort(loaded.labels, kind="stable")[::every]
    labels = loaded.labels[order]
    means, regions = described([loaded.gallery_paths[row] for row in order])
    summed, listed, top = regions.sum(axis=1), list(regions), len(means)
    ways: dict[str, Callable[[], Ranking]] = {}
    for way, vectors in (("gap", means), ("rmac", summed)):
        for method in ("plain", "dfs", "cas"):
            ways[f"{way}, {method}"] = lambda v=vectors, m=method: rerank.create(m).fit(v).rank_self(top=top)
    for way, parameters in REGIONAL.items():
        ways[way] = lambda p=parameters: rerank.RegionalDFS(**p).fit(listed).rank_self(top=top)
    rows = []
    for way, rank in ways.items():
        with Clock() as clock:
            ranking = rank()
        figure = round(100 * float(LeaveOneOut(labels).evaluate(ranking)["mAP"]), 2)
        rows.append({"way": way, "mAP": figure} | clock.figures())
        print(name, rows[-1], flush=True)
    return {"dataset": name, "pictures": len(means), "regions": int(regions.shape[1]), "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root")
    parser.add_argument("--datasets", default="orl,mpeg7,coil20,grocery")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    found = [measure(name, options.root, options.every) for name in options.datasets.split(",")]
    save("regional", {"every": options.every, "sets": found})


if __name__ == "__main__":
    main()
