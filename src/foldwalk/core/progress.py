"""One way to say how far long work has come.

Library code writes ``with task("k-NN graph", total=n) as advance: ... advance(block)``. Nothing is shown
unless the caller chose a reporter: ``with reporting(for_terminal()): ...``. A task that names its `unit` also
shows how many of them it does a second.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Protocol, TextIO

from foldwalk.core.shown import shown


class Advance(Protocol):
    """Called with the steps done, and with a note on how it goes, if there is one to show."""

    def __call__(self, amount: int, note: str = "") -> None: ...


class Reporter(Protocol):
    def task(self, label: str, total: int, unit: str = "") -> AbstractContextManager[Advance]: ...


class Silent:
    """Shows nothing."""

    @contextmanager
    def task(self, label: str, total: int, unit: str = "") -> Iterator[Advance]:  # noqa: ARG002
        yield _nothing


class PlainLines:
    """One line now and then, for logs and pipes."""

    def __init__(self, stream: TextIO | None = None, every_seconds: float = 5.0) -> None:
        self.stream = stream if stream is not None else sys.stderr
        self.every_seconds = every_seconds

    @contextmanager
    def task(self, label: str, total: int, unit: str = "") -> Iterator[Advance]:
        label = shown(label)
        began = last = time.monotonic()
        done = 0

        def advance(amount: int, note: str = "") -> None:
            nonlocal done, last
            done += amount
            now = time.monotonic()
            if now - last >= self.every_seconds:
                last = now
                left = (now - began) / max(done, 1) * max(total - done, 0)
                pace = _pace(done, now - began, unit)
                said = f"{shown(note)}, " if note else ""
                print(
                    f"{label}: {done}/{total}, {said}{pace}about {left:.0f} s left",
                    file=self.stream,
                    flush=True,
                )

        yield advance
        if last > began:
            print(f"{label}: done in {time.monotonic() - began:.1f} s", file=self.stream, flush=True)


class RichBars:
    """Progress bars on a terminal."""

    @contextmanager
    def task(self, label: str, total: int, unit: str = "") -> Iterator[Advance]:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[pace]}", markup=False),
            TimeRemainingColumn(),
        )
        began, done = time.monotonic(), 0
        with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
            number = bars.add_task(shown(label), total=total, pace="")

            def advance(amount: int, note: str = "") -> None:
                nonlocal done
                done += amount
                pace = _pace(done, time.monotonic() - began, unit).removesuffix(", ")
                bars.update(number, advance=amount, pace=", ".join(filter(None, (shown(note), pace))))

            yield advance


def _nothing(amount: int, note: str = "") -> None:
    pass


def _pace(done: int, seconds: float, unit: str) -> str:
    return f"{done / seconds:.3g} {unit} a second, " if unit and seconds > 0 else ""


_reporter: ContextVar[Reporter] = ContextVar("foldwalk_reporter", default=Silent())  # noqa: B039


def for_terminal() -> Reporter:
    """Bars where a person is looking, plain lines elsewhere; both on stderr. Of several processes that train
    together the first one speaks."""
    if os.environ.get("RANK", "0") != "0":
        return Silent()
    if not sys.stderr.isatty():
        return PlainLines()
    from foldwalk.core.compiling import tell_of_compiling

    tell_of_compiling()
    return RichBars()


@contextmanager
def reporting(reporter: Reporter) -> Iterator[None]:
    token = _reporter.set(reporter)
    try:
        yield
    finally:
        _reporter.reset(token)


def task(label: str, total: int, unit: str = "") -> AbstractContextManager[Advance]:
    """Announce work of `total` steps to the current reporter; call what it yields with the steps done."""
    return _reporter.get().task(label, total, unit)
