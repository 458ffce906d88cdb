"""Manifold ranking from 5,000 to 100,000 items, 100 queries: time by stage, memory, mAP beside plain search.

    python -m benchmarks.speed.manifold_ranking [--sizes 5000,20000,100000]

Yardstick in the same run, up to 5,000 items: the dense closed form in plain numpy, written from the paper.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from foldwalk import rerank
from foldwalk.datasets import synthetic
from harness import Clock, alone, exponent, save

DENSE_UP_TO = 5_000


def ours(n: int) -> dict[str, Any]:
    few = synthetic(1_000, d=256)
    rerank.create("manifold_ranking").fit(few.gallery).rank(few.queries)
    data = synthetic(n, d=256)
    plain = rerank.create("plain").fit(data.gallery).rank(data.queries, top=1000)
    method = rerank.create("manifold_ranking")
    with Clock() as fitting:
        method.fit(data.gallery)
    with Clock() as ranking:
        answer = method.rank(data.queries, top=1000)
    return {
        "fit": fitting.figures(),
        "rank": ranking.figures(),
        "mAP": round(data.protocol.evaluate(answer)["mAP"], 4),
        "plain_mAP": round(data.protocol.evaluate(plain)["mAP"], 4),
    }


def dense(n: int) -> dict[str, Any]:
    """(I - alpha S)^-1 of all items and queries, n x n arrays throughout."""
    data = synthetic(n, d=256)
    k = rerank.create("manifold_ranking").params.k
    alpha = rerank.create("manifold_ranking").params.alpha
    with Clock() as clock:
        x = np.concatenate([data.gallery, data.queries]).astype(np.float64)
        squared = np.maximum(2 - 2 * x @ x.T, 0)
        np.fill_diagonal(squared, np.inf)
        nearest = np.argsort(squared, axis=1)[:, :k]
        width = np.sqrt(squared[np.arange(len(x)), nearest[:, -1]])
        affinity = np.zeros_like(squared)
        rows = np.arange(len(x))[:, None]
        affinity[rows, nearest] = np.exp(-squared[rows, nearest] / (width[:, None] * width[nearest]))
        affinity = np.maximum(affinity, affinity.T)
        root = affinity.sum(axis=1) ** -0.5
        system = np.eye(len(x)) - alpha * root[:, None] * affinity * root[None, :]
        np.argsort(-np.linalg.inv(system)[n:, :n], axis=1)
    return clock.figures()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="5000,20000,100000")
    sizes = [int(n) for n in parser.parse_args().sizes.split(",")]
    rows = []
    for n in sizes:
        row = {"n": n} | alone(ours, n)
        total = row["fit"]["wall_s"] + row["rank"]["wall_s"]
        if n <= DENSE_UP_TO:
            row["dense"] = alone(dense, n)
            row["dense_over_ours"] = round(row["dense"]["wall_s"] / total, 1)
        rows.append(row)
        print(row, flush=True)
    growth = {
        stage: round(exponent(sizes, [row[stage]["wall_s"] for row in rows]), 3) for stage in ("fit", "rank")
    }
    print("growth exponents:", growth)
    save("manifold_ranking", {"rows": rows, "growth_exponent": growth})


if __name__ == "__main__":
    main()
