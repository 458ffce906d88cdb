"""Measurements in a process of their own: what they hold, and how they fail."""

from __future__ import annotations

import multiprocessing
import os
import signal

import numpy as np
import pytest

from foldwalk import datasets, rerank
from foldwalk.measure.jobs import Job, measure, measure_all, measure_here, ranking_depth
from foldwalk.measure.trial import Trial


class KilledJob(Job):
    def load(self) -> Trial:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("still alive")


class CrashingJob(Job):
    def load(self) -> Trial:
        os.kill(os.getpid(), signal.SIGSEGV)
        raise AssertionError("still alive")


class HungryJob(Job):
    def load(self) -> Trial:
        raise MemoryError


class BuggyJob(Job):
    def load(self) -> Trial:
        raise ZeroDivisionError("a\nbug" + 1000 * "!")


class InterruptedJob(Job):
    def load(self) -> Trial:
        os.kill(os.getpid(), signal.SIGINT)
        return super().load()


def test_the_process_ignores_ctrl_c_and_its_parent_hears_it_again() -> None:
    before = signal.getsignal(signal.SIGINT)
    assert measure(InterruptedJob("digits", "plain", queries=5)).failure is None
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (KilledJob("digits", "plain"), "was killed, most likely for want of memory"),
        (CrashingJob("digits", "plain"), "ended by signal SIGSEGV"),
        (HungryJob("digits", "plain"), "out of memory"),
        (BuggyJob("digits", "plain"), "ZeroDivisionError: a bug!!"),
        (Job("digits", "no_such_method"), "there is no method 'no_such_method'"),
    ],
)
def test_a_failure_is_a_row_with_its_reason(job: Job, reason: str) -> None:
    outcome = measure(job)
    assert outcome.failure is not None
    assert reason in outcome.failure
    assert len(outcome.failure) <= 300
    assert (outcome.dataset, outcome.method) == (job.dataset, job.method)
    assert np.isnan(outcome.headline)


def test_a_failure_does_not_end_the_run() -> None:
    outcomes = measure_all([BuggyJob("digits", "first"), Job("digits", "plain", queries=20)])
    assert [m.failure is None for m in outcomes] == [False, True]


def test_what_is_there_is_told_after_every_set() -> None:
    told: list[list[str]] = []
    jobs = [BuggyJob("digits", "first"), BuggyJob("digits", "second"), BuggyJob("pami", "first")]
    measure_all(jobs, lambda found: told.append([f"{m.dataset} {m.method}" for m in found]))
    assert told == [["digits first", "digits second"], ["digits first", "digits second", "pami first"]]


def test_a_measurement_agrees_with_the_protocol() -> None:
    """Figures, what is shown and the costs of plain search on all digits, against doing it by hand."""
    outcome = measure(Job("digits", "plain"))
    dataset = datasets.load("digits")
    ranking = rerank.create("plain", metric=dataset.metric).fit(dataset.gallery).rank_self(top=1797)
    assert outcome.figures == pytest.approx(dataset.protocol.evaluate(ranking))
    assert (outcome.n_gallery, outcome.n_queries, outcome.depth) == (1797, 1797, 1796)
    assert outcome.details is not None
    np.testing.assert_array_equal(outcome.details.shown, ranking.ids[:, :10])
    labels = dataset.labels
    np.testing.assert_array_equal(outcome.details.right, labels[ranking.ids[:, :10]] == labels[:, None])
    assert outcome.details.per_query.mean() == pytest.approx(outcome.headline)
    assert outcome.wall_seconds > 0
    assert outcome.cpu_seconds > 0
    # The ranking alone, 1797 x 1796 ids of eight bytes, needs 24 MB.
    assert outcome.peak_mb > 24


def test_sampled_and_inductive() -> None:
    job = Job("digits", "plain", queries=15, inductive=True)
    trial = job.load()
    outcome = measure_here(job, trial)
    assert (outcome.n_queries, outcome.n_gallery, outcome.depth) == (15, 1782, 1782)
    assert outcome.inductive
    assert not measure_here(Job("pami", "plain", inductive=True), Job("pami", "plain").load()).inductive
    assert outcome.figures == measure_here(job, trial).figures


def test_depth() -> None:
    assert ranking_depth(10_000) == 10_000
    assert ranking_depth(10_001) == 1_000


def test_ctrl_c_is_heard_while_the_process_starts(monkeypatch):
    process = multiprocessing.get_context("spawn").Process
    start, children = process.start, []

    def interrupted(self):
        start(self)
        children.append(self.pid)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(process, "start", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            measure(Job("digits", "plain"))
    finally:
        signal.signal(signal.SIGINT, before)
    with pytest.raises(ProcessLookupError):
        os.kill(children[0], 0)
