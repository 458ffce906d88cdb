"""What resizing, pooling and whitening do to plain search: mAP in percent, every item a query for its class.

    python -m benchmarks.descriptors.quality [--root DATA] [--every 3]

Resizing and pooling are measured on every third picture of each class of two sets, described here. Whitening
is measured on stored features: the PCA fitted on the set itself, without labels; the learned one fitted on
matching pairs of the first hundred birds and measured on every third of the other hundred, never seen before.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from foldwalk import datasets, rerank
from foldwalk.core.seeds import generator
from foldwalk.descriptors import backbone, describe
from foldwalk.descriptors.whitening import LearnedWhitening, PcaWhitening
from foldwalk.evaluate import LeaveOneOut
from harness import save

WAYS: dict[str, dict[str, Any]] = {
    "squash, gap (default)": {},
    "crop, gap": {"fit": "crop"},
    "squash, gem": {"pooling": "gem"},
    "squash, mac": {"pooling": "mac"},
    "squash, rmac": {"pooling": "rmac"},
    "squash, gap, three scales": {"scales": (1.0, 2**-0.5, 0.5)},
}
SHRINKAGES = (0.0, 0.5, 0.8, 0.9, 0.98)


def precision(vectors: np.ndarray, labels: np.ndarray) -> float:
    ranking = rerank.create("plain").fit(vectors).rank_self(top=len(vectors))
    return round(100 * LeaveOneOut(labels).evaluate(ranking)["mAP"], 1)


def ways_of(name: str, root: str | None, every: int) -> dict[str, float]:
    loaded = datasets.load(name, root=root)
    assert loaded.gallery_paths is not None
    assert loaded.labels is not None
    order = np.argsort(loaded.labels, kind="stable")[::every]
    paths, labels = [loaded.gallery_paths[row] for row in order], loaded.labels[order]
    found = {}
    for way, options in WAYS.items():
        found[way] = precision(describe(paths, backbone(**options)).vectors, labels)
        print(name, len(paths), way, found[way], flush=True)
    return found


def pca(name: str, root: str | None) -> dict[str, float]:
    loaded = datasets.load(name, root=root)
    x, labels = loaded.gallery, loaded.labels
    found = {"none": precision(x, labels)}
    for shrinkage in SHRINKAGES:
        whitened = PcaWhitening(shrinkage=shrinkage).fit(x).transform(x)
        found[f"{shrinkage}"] = precision(whitened, labels)
    print("pca", name, found, flush=True)
    return found


def learned(root: str | None, every: int) -> dict[str, float]:
    seen, unseen = (datasets.load(name, root=root) for name in ("cub_first100", "cub_last100"))
    order = np.argsort(unseen.labels, kind="stable")[::every]
    x, labels = unseen.gallery[order], unseen.labels[order]
    pairs = generator(0, "pairs").integers(len(seen.labels), size=(500_000, 2))
    matching = (seen.labels[pairs[:, 0]] == seen.labels[pairs[:, 1]]) & (pairs[:, 0] != pairs[:, 1])
    found = {"none": precision(x, labels)}
    for shrinkage in SHRINKAGES:
        fitted = LearnedWhitening(shrinkage=shrinkage).fit(seen.gallery, pairs[matching])
        found[f"{shrinkage}"] = precision(fitted.transform(x), labels)
    print("learned", found, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root")
    parser.add_argument("--every", type=int, default=3)
    options = parser.parse_args()
    ways = {name: ways_of(name, options.root, options.every) for name in ("grocery", "mpeg7")}
    whitening = {name: pca(name, options.root) for name in ("orl", "mpeg7", "grocery")}
    results = {
        "every": options.every,
        "ways": ways,
        "pca_whitening": whitening,
        "learned_whitening_cub": learned(options.root, options.every),
    }
    save("descriptor_quality", results)


if __name__ == "__main__":
    main()
