"""`auto` for queries that were never seen, beside queries that join the graph, and beside CAS.

    python -m benchmarks.rerank.automatic_unseen [--root DATA]

A random tenth of each collection of benchmarks.rerank.automatic asks, the rest is the gallery; three splits,
mAP in percent, means. "One search" is what `auto` does of 5,000 items and more, done of these fewer.
Written to benchmarks/results/automatic_unseen.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.rerank.automatic import SETS, whole
from foldwalk import rerank
from foldwalk.core.seeds import generator
from foldwalk.evaluate import QueryGallery
from foldwalk.rerank.automatic import auto as automatic
from harness import save

SPLITS = 3


@contextmanager
def one_search() -> Iterator[None]:
    """As if there were many items: the further views begin beside what the raw one finds."""
    before, automatic.MANY = automatic.MANY, 0
    try:
        yield
    finally:
        automatic.MANY = before


def split_scores(items: np.ndarray, labels: np.ndarray, split: int) -> dict[str, float]:
    order = generator(split, "a tenth asks").permutation(len(items))
    asking, rest = order[: len(order) // 10], np.sort(order[len(order) // 10 :])
    queries, gallery = items[asking], items[rest]
    protocol = QueryGallery(labels[asking], labels[rest])
    scores = {}
    for name in ("plain", "cas", "auto"):
        answer = rerank.create(name).fit(gallery).rank(queries, len(gallery))
        scores[f"{name}, unseen"] = 100 * protocol.evaluate(answer)["mAP"]
    with one_search():
        answer = rerank.create("auto").fit(gallery).rank(queries, len(gallery))
    scores["auto, unseen, one search"] = 100 * protocol.evaluate(answer)["mAP"]
    for name in ("cas", "auto"):
        answer = rerank.create(name).rerank(queries, gallery, len(gallery))
        scores[f"{name}, joined"] = 100 * protocol.evaluate(answer)["mAP"]
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for name in SETS:
        items, labels = whole(name, options.root)
        splits = [split_scores(items, labels, split) for split in range(SPLITS)]
        results[name] = {way: round(float(np.mean([s[way] for s in splits])), 2) for way in splits[0]}
        print(name, results[name], flush=True)
        save("automatic_unseen", {"splits": SPLITS, "results": results})


if __name__ == "__main__":
    main()
