"""``foldwalk train NAME SOURCE``: features learned on the vectors of an index, a data set or a file."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foldwalk.cli.output import print_json, remark, say
from foldwalk.cli.sources import is_index, is_vectors

if TYPE_CHECKING:
    from foldwalk.core.types import Float32Array
    from foldwalk.core.vector_files import VectorFile
    from foldwalk.datasets import Dataset
    from foldwalk.index import Index
    from foldwalk.learn import GradNet
    from foldwalk.learn.training import LearnedVectors, VectorTraining

WATCHED_QUERIES = 500
CHECKPOINT = "checkpoint.safetensors"
Watcher = Callable[["Float32Array"], float]


@dataclass(frozen=True)
class Asked:
    """What was typed."""

    source: str
    out: Path | None
    params: dict[str, Any]
    seed: int | None
    root: Path | None
    start: str | None
    force: bool
    as_json: bool


def train_vectors(training: type[VectorTraining[Any]], asked: Asked) -> None:
    """Train, say how it goes, and keep what was learned: in the folder, and with the index if it is one."""
    if is_index(asked.source):
        _train_index(training, asked)
        return
    from foldwalk.cli.models import open_net
    from foldwalk.core import BadInput

    if asked.out is None:
        raise BadInput("--out OUT is missing: the folder that the model and the features go to.")
    training.Parameters.make(training.name, asked.params)
    checkpoint = _checkpoint_in(asked.out, asked.force)
    start = None if asked.start is None else open_net(asked.start)
    given, data = _read(asked.source, asked.root)
    watch = None if data is None else _watcher(data)
    learned = _run(training, asked, given, start, checkpoint, watch)
    checkpoint.unlink(missing_ok=True)
    _tell(asked, training, *learned)


def _train_index(training: type[VectorTraining[Any]], asked: Asked) -> None:
    """On the items of an index: the model stays with it. What it has learned before is gone on from."""
    from foldwalk.cli.models import open_net
    from foldwalk.core import BadInput
    from foldwalk.index import Index
    from foldwalk.machine.cache_folder import cache_folder

    training.Parameters.make(training.name, asked.params)
    with Index.open(asked.source) as index:
        if asked.params.get("metric", index.metric) != index.metric:
            raise BadInput(f"{asked.source} is by {index.metric}; leave out the parameter metric.")
        asked = replace(asked, params={**asked.params, "metric": index.metric})
        checkpoint = cache_folder() / f"{training.name}-{index.store.facts().uid}.safetensors"
        if asked.out is not None:
            checkpoint = _checkpoint_in(asked.out, asked.force)
        index.check_can_attach()
        before = _learned_before(training.name, index, asked)
        start = before if asked.start is None else open_net(asked.start)
        learned = _run(training, asked, index.contents(), start, checkpoint, None)
        index.attach(learned[0].method)
    checkpoint.unlink(missing_ok=True)
    _tell(asked, training, *learned)


def _learned_before(name: str, index: Index, asked: Asked) -> GradNet | None:
    """The model that is attached; refused where there is nothing to add to it."""
    from foldwalk.core import BadInput

    found = next((model for model in index.models() if model.method == name), None)
    if found is None or asked.force:
        return None
    if not (found.came or found.went):
        raise BadInput(
            f"{asked.source} has a {name} model that was trained on all of its {found.items} items; "
            f"--force trains anew."
        )
    if asked.start is not None:
        return None
    remark(
        f"going on from the model of {found.items} items, since which {found.came} came and {found.went} "
        f"went; --force trains anew."
    )
    return index.model()


def _checkpoint_in(out: Path, force: bool) -> Path:
    """Where an interrupted training in this folder goes on; one that is finished is not replaced unasked."""
    from foldwalk.core import BadInput
    from foldwalk.core.targets import check_folder
    from foldwalk.learn.trainings.gradnet import MODEL

    check_folder(out)
    checkpoint = out / CHECKPOINT
    if not force and (out / MODEL).exists() and not checkpoint.exists():
        raise BadInput(
            f"{out} holds a finished training: choose another folder, go on from it with --start {out}, or "
            f"train anew in its place with --force."
        )
    return checkpoint


def _run(
    training: type[VectorTraining[Any]],
    asked: Asked,
    given: VectorFile,
    start: GradNet | None,
    checkpoint: Path,
    watch: Watcher | None,
) -> tuple[LearnedVectors, dict[str, Any]]:
    """What was learned, and the facts of the training. Parameters that are not given are those of `start`."""
    from foldwalk.cli.params import refuse_large_neighborhoods
    from foldwalk.core.progress import for_terminal, reporting
    from foldwalk.core.vector_files import write_vector_file
    from foldwalk.learn import trainings

    before = {} if start is None else start.params.model_dump()
    own = training.Parameters.make(training.name, {**before, **asked.params})
    seed = asked.seed if asked.seed is not None else 0 if start is None else start.seed
    vectors = given.checked("vectors")
    refuse_large_neighborhoods(trainings.describe(training.name), asked.params, len(vectors))
    if getattr(own, "epochs", None) == 0:
        drawn = "drawn at random" if start is None else "in the model to start from"
        remark(f"epochs is 0: nothing is trained, the weights stay as they were {drawn}.")
    if asked.force:
        checkpoint.unlink(missing_ok=True)
    if checkpoint.exists():
        remark(f"going on from {checkpoint}; --force begins anew.")
    began = time.perf_counter()
    try:
        with reporting(for_terminal()):
            learned = training(own).run(
                vectors,
                asked.out,
                seed=seed,
                start=start,
                checkpoint=checkpoint,
                watch=watch,
                tell=lambda row: remark(", ".join(f"{name} {value:.4g}" for name, value in row.items())),
            )
    except KeyboardInterrupt:
        kept = checkpoint.exists()
        remark(
            f"stopped; what was learned is kept in {checkpoint}: the same command goes on from there."
            if kept
            else "stopped before the first epoch was done; nothing is kept."
        )
        raise
    seconds = time.perf_counter() - began
    beside = any(part is not None for part in (given.keys, given.metadata, given.labels))
    if asked.out is not None and beside:
        write_vector_file(asked.out / "features.npz", replace(given, vectors=learned.features))
    written = [] if asked.out is None else [*training.writes, *(["features.npz"] if beside else [])]
    facts = {"written": written, "parameters": own.model_dump(), "seed": seed, "seconds": seconds}
    return learned, facts


def _tell(
    asked: Asked, training: type[VectorTraining[Any]], learned: LearnedVectors, facts: dict[str, Any]
) -> None:
    items, size = learned.features.shape
    if asked.as_json:
        said = {"n": items, **learned.facts, "dimensions": size, "seed": facts["seed"]}
        said |= {"parameters": facts["parameters"], "seconds": round(facts["seconds"], 1)}
        print_json({"method": training.name, "source": asked.source, **said, "history": learned.history})
        return
    # Advice was given as a remark when training began.
    more = "".join(f", {name} {value}" for name, value in learned.facts.items() if name != "advice")
    done = f"{items} items, {size} features each{more}, {facts['seconds']:.1f} s"
    if is_index(asked.source):
        say(f"{asked.source}: {done}; foldwalk search --method {training.name} uses them")
    if asked.out is not None:
        say(f"{asked.out}: {done}; {', '.join(facts['written'])}")


def _read(source: str, root: Path | None) -> tuple[VectorFile, Dataset | None]:
    """The vectors of a file with what stands beside them, or a data set by its name."""
    from foldwalk import datasets
    from foldwalk.core.vector_files import VectorFile, read_vector_file
    from foldwalk.measure.trial import open_trial

    if is_vectors(Path(source)):
        return read_vector_file(Path(source), ("keys", "metadata", "labels")), None
    data = datasets.load(source, root=root)
    gallery = open_trial(data).gallery
    labels = data.labels if data.labels is not None and len(data.labels) == len(gallery) else None
    return VectorFile(gallery, labels=labels), data


def _watcher(data: Dataset) -> Watcher | None:
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
