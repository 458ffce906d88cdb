"""Networks over short lists, taught with labels of other classes, beside the same without any label.

    python -m benchmarks.learned.transfer [--root DATA] [--seeds 3]

Taught: `learn(vectors, labels)` on the first hundred birds of CUB-200-2011, then `fit` and `rank_self` on the
other hundred, whose labels only measure. Alone: trained on the gallery itself, on pairs its graph agrees on,
as by default. Untrained: no step of training. mAP in percent, every item a query for the rest of its class.
"""

from __future__ import annotations

import argparse
from typing import Any

from foldwalk import datasets, rerank
from harness import save

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "csa": ("csa", {}),
    "ssr": ("ssr", {}),
    "lattqe": ("lattqe", {}),
    "lattqe, dba=True": ("lattqe", {"dba": True}),
}


def precision(method: rerank.Reranker, data: datasets.Dataset) -> float:
    ranking = method.fit(data.gallery).rank_self(top=len(data.gallery))
    return round(100 * float(data.protocol.evaluate(ranking)["mAP"]), 2)


def row(label: str, seen: datasets.Dataset, unseen: datasets.Dataset, seeds: int) -> dict[str, Any]:
    name, parameters = METHODS[label]
    alone = [precision(rerank.create(name, seed=s, **parameters), unseen) for s in range(seeds)]
    teachers = [
        rerank.create(name, seed=s, **parameters).learn(seen.gallery, seen.labels) for s in range(seeds)
    ]
    return {
        "method": label,
        "untrained": precision(rerank.create(name, steps=0, **parameters), unseen),
        "alone": alone,
        "taught": [precision(teacher, unseen) for teacher in teachers],
        "trust": [float(teacher.taught["trust"]) for teacher in teachers],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    seen, unseen = (datasets.load(name, root=options.root) for name in ("cub_first100", "cub_last100"))
    plain = precision(rerank.create("plain"), unseen)
    print("plain", plain, flush=True)
    rows = []
    for label in METHODS:
        rows.append(row(label, seen, unseen, options.seeds))
        print(rows[-1], flush=True)
        save("learned_transfer", {"plain": plain, "rows": rows})


if __name__ == "__main__":
    main()
