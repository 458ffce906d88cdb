"""How well and at what cost one method ranks one data set.

Each measurement runs in a process of its own, so that its peak memory is its own and a crash is one failed
row. There the method first ranks a few random vectors, which compiles what is compiled on first use, and only
then the clock starts. Wall and CPU seconds (all threads) cover fitting and ranking, not loading nor
evaluating. Peak memory is described in `foldwalk.machine.peak_memory`.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from foldwalk import datasets, rerank
from foldwalk.core import FoldwalkError, Ranking
from foldwalk.core.progress import task
from foldwalk.core.seeds import generator
from foldwalk.core.types import BoolArray, Float32Array, Float64Array, IntArray
from foldwalk.evaluate import Protocol
from foldwalk.machine.peak_memory import PeakMemory
from foldwalk.measure.curves import interpolated_precision
from foldwalk.measure.trial import Trial, open_trial

FULL_DEPTH_UP_TO = 10_000
DEPTH_BEYOND = 1_000
SHOWN = 10
LONGEST_REASON = 300
_WARM_UP_ITEMS = 128


@dataclass(frozen=True)
class Job:
    """One method on one data set. `queries` asks for a random sample of that many."""

    dataset: str
    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    root: Path | None = None
    queries: int | None = None
    inductive: bool = False
    seed: int = 0

    def load(self) -> Trial:
        return open_trial(datasets.load(self.dataset, root=self.root), self.queries, self.seed)


@dataclass(frozen=True, eq=False)
class Details:
    """What a report shows beyond the figures.

    precision: interpolated precision at 101 recalls. per_query (q,): the headline figure of each query, NaN
    for those without positives. shown (q, 10): first items that are not ignored, -1 where there are fewer.
    right (q, 10): whether they are relevant.
    """

    precision: Float64Array
    per_query: Float64Array
    shown: IntArray
    right: BoolArray


@dataclass(frozen=True, eq=False)
class Measurement:
    """The outcome of a job: figures (fractions) and costs, or why it failed."""

    dataset: str
    method: str
    parameters: Mapping[str, Any]
    inductive: bool
    protocol: str = ""
    n_gallery: int = 0
    n_queries: int = 0
    depth: int = 0
    main: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    wall_seconds: float = float("nan")
    cpu_seconds: float = float("nan")
    peak_mb: float = float("nan")
    failure: str | None = None
    details: Details | None = None

    @property
    def headline(self) -> float:
        return self.figures.get(self.main, float("nan"))

    def as_dict(self) -> dict[str, Any]:
        """Everything but the details."""
        return asdict(replace(self, details=None), dict_factory=_without_details)


def _without_details(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {key: value for key, value in pairs if key != "details"}


def measure(job: Job) -> Measurement:
    """Run the job in a new process; whatever happens there, a measurement comes back."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(job, sender), daemon=True)
    try:
        with _interrupts_held_back():
            process.start()
        sender.close()
        outcome: Measurement | str = receiver.recv()
    except EOFError:
        process.join()
        outcome = _cause_of_death(process.exitcode)
    finally:
        receiver.close()
        if process.pid is not None:
            process.terminate()
            process.join()
        process.close()
    if isinstance(outcome, Measurement):
        return outcome
    return Measurement(job.dataset, job.method, job.parameters, job.inductive, failure=outcome)


def measure_all(
    jobs: Sequence[Job], set_done: Callable[[list[Measurement]], None] | None = None
) -> list[Measurement]:
    """Run the jobs one after the other, so that they do not compete.

    `set_done` gets what is there whenever a data set is through: an interruption costs the set it is at.
    """
    measurements: list[Measurement] = []
    with task("measuring", total=len(jobs)) as advance:
        for job, following in zip_longest(jobs, jobs[1:]):
            measurements.append(measure(job))
            advance(1)
            if set_done is not None and (following is None or following.dataset != job.dataset):
                set_done(measurements)
    return measurements


def measure_here(job: Job, trial: Trial) -> Measurement:
    """Run the job in this process on what is loaded; what is not compiled yet counts as time."""
    depth = ranking_depth(len(trial.gallery))
    with PeakMemory() as peak:
        wall, cpu = time.perf_counter(), time.process_time()
        ranking = _rank(job, trial.gallery, trial.queries, trial.dataset.metric, depth)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Measurement(
        job.dataset,
        job.method,
        dict(job.parameters),
        job.inductive and trial.queries is not None,
        protocol=trial.protocol.name,
        n_gallery=len(trial.gallery),
        n_queries=len(ranking),
        depth=ranking.ids.shape[1],
        main=trial.protocol.main,
        figures=trial.protocol.evaluate(ranking),
        wall_seconds=wall,
        cpu_seconds=cpu,
        peak_mb=peak.megabytes,
        details=_details(ranking, trial.protocol),
    )


def ranking_depth(n_gallery: int) -> int:
    """How far down rankings are judged: all the way in a small gallery, 1,000 items in a large one."""
    return n_gallery if n_gallery <= FULL_DEPTH_UP_TO else DEPTH_BEYOND


@contextlib.contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """A process started meanwhile never hears Ctrl-C. This one hears it afterwards, and ends the other."""
    resource_tracker.ensure_running()  # would let Ctrl-C through again if it was started meanwhile
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(job: Job, sender: Connection) -> None:
    """What the new process does."""
    try:
        trial = job.load()
        warm_up(job, trial)
        sender.send(measure_here(job, trial))
    except FoldwalkError as error:
        sender.send(str(error))
    except MemoryError:
        sender.send("out of memory")
    except Exception as error:
        sender.send(" ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_REASON])


def warm_up(job: Job, trial: Trial) -> None:
    """Compile what the job compiles on first use, on a few random vectors."""
    few = generator(job.seed, "warm-up").normal(size=(_WARM_UP_ITEMS, 8)).astype(np.float32)
    # Two groups far apart: what a walk does not reach must be ranked, too.
    few[:, 0] += np.where(np.arange(len(few)) % 2, 9, -9)
    queries = None if trial.queries is None else few[:4] + np.float32(0.1)
    # Parameters that suit the data set may be refused for so few items: the measurement itself will tell.
    with contextlib.suppress(FoldwalkError):
        _rank(job, few, queries, trial.dataset.metric, depth=len(few))


def _rank(job: Job, gallery: Float32Array, queries: Float32Array | None, metric: str, depth: int) -> Ranking:
    ranker = rerank.create(job.method, seed=job.seed, **{"metric": metric, **job.parameters})
    if queries is None:
        return ranker.fit(gallery).rank_self(top=depth)
    if job.inductive:
        return ranker.fit(gallery).rank(queries, top=depth)
    return ranker.rerank(queries, gallery, top=depth)


def _details(ranking: Ranking, protocol: Protocol) -> Details:
    judgement = protocol.judge(ranking)
    per_query = protocol.per_query(ranking)[protocol.main]
    shown = np.full((len(ranking), SHOWN), -1, dtype=np.int64)
    right = np.zeros((len(ranking), SHOWN), dtype=np.bool_)
    for query in range(len(ranking)):
        first = np.flatnonzero(~judgement.ignored[query])[:SHOWN]
        shown[query, : len(first)] = ranking.ids[query, first]
        right[query, : len(first)] = judgement.relevant[query, first]
    return Details(interpolated_precision(judgement), per_query, shown, right)


def _cause_of_death(exit_code: int | None) -> str:
    if exit_code == -signal.SIGKILL:
        return "its process was killed, most likely for want of memory"
    if exit_code is not None and exit_code < 0:
        return f"its process ended by signal {signal.Signals(-exit_code).name}"
    return f"its process ended without an answer (exit code {exit_code})"
