"""Two features of the same pictures: each alone, the mean of their distances, and fusion by diffusion.

    python -m benchmarks.rerank.features [--root DATA] [--datasets orl,mpeg7,coil20]

The features are frozen EfficientNet-lite0 vectors and raw grey pixels, compared by the Euclidean distance of
vectors of length one. Each matrix is handed to `fit(distances=...)`, the graph of `fuse_by_diffusion` to
`fit(graph=...)`; what its walk does not reach follows by the mean of the distances. mAP in percent, every
item a query for the rest of its class.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from foldwalk import datasets, rerank
from harness import save

METHODS = ("plain", "cas")


def distances_of(vectors: np.ndarray) -> np.ndarray:
    unit = vectors.astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    return np.sqrt(np.maximum(2 - 2 * unit @ unit.T, 0))


def precision(data: datasets.Dataset, method: str, **known: Any) -> float:
    ranking = rerank.create(method).fit(**known).rank_self(top=len(data.gallery))
    return round(100 * float(data.protocol.evaluate(ranking)["mAP"]), 2)


def measure(name: str, root: str | None) -> list[dict[str, Any]]:
    both = [datasets.load(kind, root=root) for kind in (name, f"{name}:pixels")]
    assert np.array_equal(both[0].labels, both[1].labels)
    matrices = [distances_of(data.gallery) for data in both]
    mean = rerank.fuse_distances(matrices)
    walked = rerank.fuse_by_diffusion(matrices, keep=len(mean)).toarray()
    behind = 1e-4 * walked[walked > 0].min() / (1 + mean)
    forms = {
        "features": {"distances": matrices[0]},
        "pixels": {"distances": matrices[1]},
        "mean of distances": {"distances": mean},
        "by diffusion": {"graph": np.minimum(walked + behind, 1)},
    }
    return [
        {"dataset": name, "form": form, **{m: precision(both[0], m, **known) for m in METHODS}}
        for form, known in forms.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root")
    parser.add_argument("--datasets", default="orl,mpeg7,coil20")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in options.datasets.split(","):
        found = measure(name, options.root)
        rows += found
        print(*found, sep="\n", flush=True)
        save("features", {"rows": rows})


if __name__ == "__main__":
    main()
