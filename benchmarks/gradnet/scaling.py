"""GRAD-Net on a connected graph from 1,000 to 100,000 items: an epoch's CPU seconds, peak memory (figure 8).

    python -m benchmarks.gradnet.scaling [--only scaling|learning] [--sizes 1000,5000,20000,100000]

Scaling: curves of 20 items in 128 dimensions that share ten of them and pass so close to one another that
nearly all items hang together; k = 15. Neighbours are known when the clock starts. One thread. GRAD-Net: one
epoch takes every item once, and then the features of all items in blocks; a whole fit also learns the codes
and keeps what unseen queries need, once more with vectors of 1,280 numbers. Beside it EIR, which solves for
all its offline rows, and GSS, whose epoch takes as many steps of 512 items as take every item once.
Rows that are there already are kept when it is started again. Drawn to docs/images/gradnet-scaling.png.
Learning: how long 5,000 x 2,048 take to learn, mAP (leave-one-out) after so many seconds of training; the
measuring is not counted.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from harness import RESULTS, ROOT, Clock, alone, exponent, save

SIZES = "1000,5000,20000,100000"
DIMENSIONS, WIDE, K = 128, 1_280, 15
PER_CURVE = 20
PER_CLASS = 40
# What is measured, the parameters, and up to how many items.
WAYS: dict[str, tuple[str, dict[str, Any], int]] = {
    "GRAD-Net, as it is": ("gradnet", {}, 10**6),
    "GRAD-Net, clustered batches of 64": ("gradnet", {"batch": 64}, 10**6),
    "GRAD-Net, one exact batch": ("gradnet", {"batches": "exact"}, 20_000),
    "GRAD-Net, exact batches of 64": ("gradnet", {"batch": 64, "batches": "exact"}, 5_000),
    "GRAD-Net, a whole fit of one epoch": ("fit", {}, 10**6),
    "GRAD-Net, a whole fit of one epoch, 1,280 dimensions": ("wide fit", {}, 10**6),
    "GSS": ("gss", {}, 10**6),
    "EIR": ("eir", {}, 10**6),
}


def classes_apart(n: int, d: int, noise: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors around n / 40 random centres, and the class of each."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % (n // PER_CLASS)
    centres = rng.normal(size=(n // PER_CLASS, d)).astype(np.float32)
    vectors = centres[labels] + noise * rng.standard_normal((n, d), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), labels


def close_curves(n: int, kept: Path, d: int = DIMENSIONS) -> tuple[Any, Any]:
    """Vectors, and their neighbours, which are searched for once."""
    from foldwalk.core import Neighbors, Vectors
    from foldwalk.datasets.sets.synthetic import synthetic
    from foldwalk.neighbors import knn_graph

    vectors = Vectors(synthetic(n, d=d, clusters=n // PER_CURVE, distractors=0).gallery)
    file = kept / f"{n}x{d}.npz"
    if not file.exists():
        found = knn_graph(vectors, K)
        np.savez(file, ids=found.ids, similarities=found.similarities)
    stored = np.load(file, allow_pickle=False)
    return vectors, Neighbors(stored["ids"], stored["similarities"])


def one_epoch(n: int, parameters: dict[str, Any], kept: str) -> dict[str, Any]:
    import torch

    from foldwalk.rerank.learned.gradnet.graph import graph_input
    from foldwalk.rerank.learned.gradnet.parameters import GradNetParams
    from foldwalk.rerank.learned.gradnet.train import GraphTrainer

    torch.set_num_threads(1)
    vectors, neighbors = close_curves(n, Path(kept))
    params = GradNetParams(k=K, **parameters)
    # What is compiled and what is imported is neither time nor memory of an epoch.
    few, around = close_curves(1_000, Path(kept))
    small = GraphTrainer(graph_input(few, around, params, 0), params, 0)
    small.step(next(small.sampler.epoch()))
    with Clock() as whole:
        began = time.process_time()
        trainer = GraphTrainer(graph_input(vectors, neighbors, params, 0), params, 0)
        prepared = time.process_time()
        steps = sum(1 for batch in trainer.sampler.epoch() if trainer.step(batch))
        trained = time.process_time()
        for _ in trainer.feature_blocks():
            pass
        finished = time.process_time()
    component = np.bincount(connected(trainer.graph.affinity)).max() / n
    return {
        "n": n, "steps": steps, "largest_component": round(float(component), 4),
        "cpu_s": round(trained - prepared, 2), "prepare_cpu_s": round(prepared - began, 2),
        "features_cpu_s": round(finished - trained, 2), "peak_mb": whole.figures()["peak_mb"],
    }  # fmt: skip


def connected(affinity: Any) -> np.ndarray:
    from scipy.sparse.csgraph import connected_components

    return connected_components(affinity, directed=False)[1]


def another(name: str, n: int, kept: str) -> dict[str, Any]:
    import torch

    from foldwalk import rerank

    torch.set_num_threads(1)
    parameters = {"k": 5, "steps": -(-n // 512)} if name == "gss" else {}
    vectors, neighbors = close_curves(n, Path(kept))
    few, around = close_curves(1_000, Path(kept))
    rerank.create(name, **parameters).adopt(few, candidates=1_000, neighbors=around)
    with Clock() as clock:
        rerank.create(name, **parameters).adopt(vectors, candidates=n, neighbors=neighbors)
    return {"n": n, **clock.figures()}


def whole_fit(n: int, kept: str, d: int) -> dict[str, Any]:
    import torch

    from foldwalk.learn import GradNet

    torch.set_num_threads(1)
    vectors, neighbors = close_curves(n, Path(kept), d)
    few, around = close_curves(1_000, Path(kept), d)
    GradNet(k=K, epochs=1).fit_graph(few, around)
    with Clock() as clock:
        GradNet(k=K, epochs=1).fit_graph(vectors, neighbors)
    return {"n": n, **clock.figures()}


def scaling(sizes: list[int]) -> None:
    target = RESULTS / "gradnet_scaling.json"
    results: dict[str, Any] = json.loads(target.read_text())["results"] if target.exists() else {}
    with tempfile.TemporaryDirectory() as kept:
        for n in sizes:
            for way, (name, parameters, most) in WAYS.items():
                rows = results.setdefault(way, {"rows": []})["rows"]
                if n > most or any(row["n"] == n for row in rows):
                    continue
                if name == "gradnet":
                    row = alone(one_epoch, n, parameters, kept)
                elif name.endswith("fit"):
                    row = alone(whole_fit, n, kept, WIDE if name == "wide fit" else DIMENSIONS)
                else:
                    row = alone(another, name, n, kept)
                rows.append(row)
                print(way, row, flush=True)
                if len(rows) > 1:
                    measured = [[row[key] for row in rows] for key in ("n", "cpu_s", "peak_mb")]
                    results[way]["exponent of cpu_s"] = round(exponent(measured[0], measured[1]), 3)
                    results[way]["exponent of peak_mb"] = round(exponent(measured[0], measured[2]), 3)
                save("gradnet_scaling", {"dimensions": DIMENSIONS, "k": K, "results": results})
    plot(results, ROOT / "docs" / "images" / "gradnet-scaling.png")


def plot(results: dict[str, Any], target: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(10, 4))
    for way, found in results.items():
        for axes, key in zip(panels, ("peak_mb", "cpu_s"), strict=True):
            style = "o-" if way.startswith("GRAD") else "s--"
            axes.plot(
                [row["n"] for row in found["rows"]], [row[key] for row in found["rows"]], style, label=way
            )
    for axes, title in zip(
        panels, ("peak memory above the vectors, MB", "CPU seconds an epoch"), strict=True
    ):
        axes.set(xscale="log", yscale="log", xlabel="items", title=title)
        axes.grid(alpha=0.3)
    panels[0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(target, dpi=120)
    print(f"written: {target.relative_to(ROOT)}")


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
    parser.add_argument("--sizes", default=SIZES)
    options = parser.parse_args()
    if options.only != "learning":
        scaling([int(size) for size in options.sizes.split(",")])
    if options.only != "scaling":
        learned = alone(learning, 5_000, 2_048)
        print(learned)
        save("gradnet_learning", {"results": learned})


if __name__ == "__main__":
    main()
