"""``foldwalk train NAME SOURCE``: features learned on the vectors of a data set or of a file."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foldwalk.cli.output import print_json, remark

if TYPE_CHECKING:
    from foldwalk.core.types import Float32Array
    from foldwalk.core.vector_files import VectorFile
    from foldwalk.datasets import Dataset
    from foldwalk.learn.training import VectorTraining

WATCHED_QUERIES = 500


def train_vectors(
    training: type[VectorTraining[Any]],
    source: str,
    out: Path,
    params: dict[str, Any],
    seed: int,
    root: Path | None,
    as_json: bool,
) -> None:
    """Train, say how it goes, and write what was learned into the folder.

    Where the source has keys, metadata or labels, features.npz holds them beside the features.
    """
    from foldwalk.cli.params import refuse_large_neighborhoods
    from foldwalk.core.progress import for_terminal, reporting
    from foldwalk.core.vector_files import write_vector_file
    from foldwalk.learn import trainings

    own = training.Parameters.make(training.name, params)
    given, data = _read(source, root)
    vectors = given.checked("vectors")
    refuse_large_neighborhoods(trainings.describe(training.name), params, len(vectors))
    began = time.perf_counter()
    with reporting(for_terminal()):
        learned = training(own).run(
            vectors,
            out,
            seed=seed,
            watch=None if data is None else _watcher(data),
            tell=lambda row: remark(", ".join(f"{name} {value:.4g}" for name, value in row.items())),
        )
    seconds = time.perf_counter() - began
    written = [*training.writes]
    if any(part is not None for part in (given.keys, given.metadata, given.labels)):
        write_vector_file(out / "features.npz", replace(given, vectors=learned.features))
        written.append("features.npz")
    items, size = learned.features.shape
    if as_json:
        facts = {"n": items, **learned.facts, "dimensions": size, "seed": seed}
        facts |= {"parameters": own.model_dump(), "seconds": round(seconds, 1), "history": learned.history}
        print_json({"method": training.name, "source": source} | facts)
        return
    more = "".join(f", {name} {value}" for name, value in learned.facts.items())
    print(f"{out}: {items} items, {size} features each{more}, {seconds:.1f} s; {', '.join(written)}")


def _read(source: str, root: Path | None) -> tuple[VectorFile, Dataset | None]:
    """The vectors of a file with what stands beside them, or a data set by its name."""
    from foldwalk import datasets
    from foldwalk.cli.sources import is_vectors
    from foldwalk.core.vector_files import VectorFile, read_vector_file
    from foldwalk.measure.trial import open_trial

    if is_vectors(Path(source)):
        return read_vector_file(Path(source), ("keys", "metadata", "labels")), None
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
