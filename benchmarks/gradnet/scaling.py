"""GRAD-Net: seconds per epoch and memory from 1,000 to 20,000 items; how long 5,000 x 2,048 take to learn.

    python -m benchmarks.gradnet.scaling [--only scaling|learning]

Scaling: 1,280 dimensions, classes of 40 around centres of their own, so that a larger collection has more
classes, not larger ones; and, as the hard case, curves that share ten dimensions and pass close to one
another, so that four hops reach far. An epoch takes every item once: in batches of 64 sextets as in the
paper, or in one batch of all.
Learning: mAP (leave-one-out) after so many seconds of training; the measuring is not counted.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from harness import Clock, alone, exponent, save

SIZES = (1_000, 5_000, 20_000)
PER_CLASS = 40
SECONDS = ("epoch_s", "epoch_cpu_s")  # on a machine that others use as well, CPU seconds tell more


def classes_apart(n: int, d: int, noise: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors around n / 40 random centres, and the class of each."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % (n // PER_CLASS)
    centres = rng.normal(size=(n // PER_CLASS, d)).astype(np.float32)
    vectors = centres[labels] + noise * rng.standard_normal((n, d), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), labels


def close_curves(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    from foldwalk.datasets.sets.synthetic import synthetic

    data = synthetic(n, d=d, clusters=n // PER_CLASS, distractors=0)
    return data.gallery, data.labels


def one_epoch(n: int, batch: int, kind: str) -> dict[str, Any]:
    import torch

    from foldwalk.core import Vectors
    from foldwalk.neighbors import knn_graph
    from foldwalk.rerank.learned.gradnet.choice import choose_k
    from foldwalk.rerank.learned.gradnet.graph import graph_input
    from foldwalk.rerank.learned.gradnet.parameters import GradNetParams
    from foldwalk.rerank.learned.gradnet.train import GraphTrainer

    torch.set_num_threads(2)
    vectors = Vectors((classes_apart(n, 1280, 2.0) if kind == "apart" else close_curves(n, 1280))[0])
    neighbors = knn_graph(vectors, 15)
    k = choose_k(neighbors)
    params = GradNetParams(k=k, batch=batch)
    with Clock() as whole:
        trainer = GraphTrainer(graph_input(vectors, neighbors.first(k), params, 0), params, 0)
        preparing = time.perf_counter() - whole.wall
        next(iter(trainer.sampler.epoch()))  # compiles
        began, began_cpu = time.perf_counter(), time.process_time()
        steps = [trainer.step(sextets) for sextets in trainer.sampler.epoch()]
        seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    return {
        "n": n, "k": k, "batch": batch or n, "steps": len(steps), "epoch_s": round(seconds, 3),
        "epoch_cpu_s": round(cpu, 3),
        "prepare_s": round(preparing, 2), "peak_mb": whole.figures()["peak_mb"],
    }  # fmt: skip


def learning(n: int, d: int) -> dict[str, Any]:
    import torch

    from foldwalk.core import Ranking, Vectors
    from foldwalk.evaluate import LeaveOneOut
    from foldwalk.learn import GradNet
    from foldwalk.neighbors.exact import exact_search

    torch.set_num_threads(2)
    gallery, labels = classes_apart(n, d, 4.0)
    protocol = LeaveOneOut(labels)
    top = 4 * PER_CLASS
    curve: list[dict[str, float]] = []
    measuring, measuring_cpu = 0.0, 0.0
    began, began_cpu = time.perf_counter(), time.process_time()

    def mean_precision(features: np.ndarray) -> float:
        vectors = Vectors(np.ascontiguousarray(features))
        found = exact_search(vectors, vectors, top, "cosine", np.arange(n))
        ranking = Ranking(found.ids.astype(np.int64), found.similarities)
        return round(100 * protocol.evaluate(ranking)["mAP"], 2)

    def listen(epoch: Any) -> None:
        nonlocal measuring, measuring_cpu
        if epoch.number % 10 and epoch.number not in (1, 5):
            return
        paused, paused_cpu = time.perf_counter(), time.process_time()
        curve.append(
            {
                "epoch": epoch.number,
                "s": round(paused - began - measuring, 1),
                "cpu_s": round(paused_cpu - began_cpu - measuring_cpu, 1),
                "mAP": mean_precision(epoch.features()),
            }
        )
        measuring += time.perf_counter() - paused
        measuring_cpu += time.process_time() - paused_cpu

    net = GradNet().fit(gallery, listener=listen)
    total = time.perf_counter() - began - measuring
    final = mean_precision(net.features)
    near = [abs(point["mAP"] - final) <= 0.5 for point in curve]
    within = next(point for place, point in enumerate(curve) if all(near[place:]))
    return {
        "n": n, "d": d, "k": net.k, "plain_mAP": mean_precision(gallery), "final_mAP": final,
        "seconds": round(total, 1), "within_half_a_point": within, "curve": curve,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=("scaling", "learning"))
    only = parser.parse_args().only
    if only != "learning":
        results: dict[str, Any] = {}
        for kind, batch in (("apart", 64), ("curves", 64), ("apart", 0), ("curves", 0)):
            rows = [alone(one_epoch, n, batch, kind) for n in SIZES]
            sizes = [r["n"] for r in rows]
            slopes = {f"exponent of {s}": round(exponent(sizes, [r[s] for r in rows]), 3) for s in SECONDS}
            name = f"{kind}, {'batches of 64' if batch else 'one batch'}"
            results[name] = {"rows": rows, **slopes}
            print(name, results[name], flush=True)
            save("gradnet_scaling", {"dimensions": 1280, "results": results})
    if only != "scaling":
        learned = alone(learning, 5_000, 2_048)
        print(learned)
        save("gradnet_learning", {"results": learned})


if __name__ == "__main__":
    main()
