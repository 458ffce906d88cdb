"""``foldwalk train gradnet``: features learned on the neighbour graph of a data set or of a vectors file."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foldwalk.cli.output import print_json, remark

if TYPE_CHECKING:
    from foldwalk.core.types import Float32Array
    from foldwalk.core.vector_files import VectorFile
    from foldwalk.datasets import Dataset

WATCHED_QUERIES = 500
LINES = 20


def train_gradnet(
    source: str, out: Path, param: list[str], seed: int, epochs: int | None, root: Path | None, as_json: bool
) -> None:
    """Train, say how it goes, and write model.safetensors, features.npy and log.csv into the folder.

    Where the source has keys, metadata or labels, features.npz holds them beside the features.
    """
    from dataclasses import replace

    from foldwalk.cli.params import parse_params, refuse_large_neighborhoods
    from foldwalk.core import MissingExtra
    from foldwalk.core.progress import for_terminal, reporting
    from foldwalk.core.vector_files import VectorFile, write_vector_file
    from foldwalk.learn import GradNet

    try:
        from foldwalk.learn.trainer.logs import Log
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "torch", "learn", "foldwalk train") from None
    params = parse_params(param)
    params |= {} if epochs is None else {"epochs": epochs}
    net = GradNet(seed=seed, **params)
    given, data = _read(source, root)
    gallery = given.vectors
    refuse_large_neighborhoods("gradnet", params, len(gallery))
    watch = None if data is None else _watcher(data)
    out.mkdir(parents=True, exist_ok=True)
    epochs_in_all = net.params.epochs * net.params.rounds
    every = max(1, epochs_in_all // LINES)

    def listen(epoch: Any) -> None:
        row = {"epoch": epoch.number, "local": epoch.local, "global": epoch.global_, "penalty": epoch.penalty}
        if epoch.number % every == 0 or epoch.number in (1, epochs_in_all):
            if watch is not None:
                row["mAP"] = watch(epoch.features())
            remark(", ".join(f"{name} {value:.4g}" for name, value in row.items()))
        log.write(row)

    began = time.perf_counter()
    with reporting(for_terminal()), Log(out, []) as log:
        net.fit(gallery, listener=listen)
    seconds = time.perf_counter() - began
    net.save(out / "model.safetensors")
    written = ["model.safetensors", "features.npy"]
    write_vector_file(out / "features.npy", VectorFile(net.features))
    if any(part is not None for part in (given.keys, given.metadata, given.labels)):
        write_vector_file(out / "features.npz", replace(given, vectors=net.features))
        written.append("features.npz")
    size = net.features.shape[1]
    if as_json:
        print_json(
            {
                "method": "gradnet",
                "source": source,
                "n": len(gallery),
                "k": net.k,
                "dimensions": size,
                "seed": seed,
                "parameters": net.params.model_dump(),
                "seconds": round(seconds, 1),
                "history": log.rows,
            }
        )
        return
    print(
        f"{out}: {len(gallery)} items, {size} features each, k {net.k}, {seconds:.1f} s; "
        f"{', '.join(written)}, log.csv"
    )


def _read(source: str, root: Path | None) -> tuple[VectorFile, Dataset | None]:
    """The vectors of a file with what stands beside them, or a data set by its name."""
    from dataclasses import replace

    from foldwalk import datasets
    from foldwalk.cli.sources import is_vectors
    from foldwalk.core.vector_files import VectorFile, read_vector_file
    from foldwalk.measure.trial import open_trial

    if is_vectors(Path(source)):
        file = read_vector_file(Path(source), ("keys", "metadata", "labels"))
        return replace(file, vectors=file.checked("vectors").values), None
    data = datasets.load(source, root=root)
    gallery = open_trial(data).gallery
    labels = data.labels if data.labels is not None and len(data.labels) == len(gallery) else None
    return VectorFile(gallery, labels=labels), data


def _watcher(data: Dataset) -> Callable[[Float32Array], float] | None:
    """mAP of learned features for at most 500 queries drawn from the gallery; None where it has no classes.

    It is shown and written down. Nothing is chosen by it.
    """
    import numpy as np

    from foldwalk.core import Ranking, Vectors
    from foldwalk.measure.trial import open_trial
    from foldwalk.neighbors import Searcher

    if data.queries is not None or data.labels is None:
        return None
    trial = open_trial(data, WATCHED_QUERIES)

    def mean_precision(features: Float32Array) -> float:
        if trial.query_rows is None or trial.gallery_rows is None:
            gallery = queries = Vectors(features)
            own, depth = np.arange(len(gallery)), len(gallery) - 1
        else:
            gallery, queries = Vectors(features[trial.gallery_rows]), Vectors(features[trial.query_rows])
            own, depth = None, len(gallery)
        found = Searcher(gallery, way="exact").search(queries, depth, own)
        return 100 * trial.protocol.evaluate(Ranking(found.ids.astype(np.int64), found.similarities))["mAP"]

    return mean_precision
