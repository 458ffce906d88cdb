"""Folders that are watched: what happens in them is taken up, some of it at a time.

A picture that was written to a moment ago waits for the next time, so that none is taken half.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from foldwalk.core.errors import BadInput, MissingExtra
from foldwalk.index.collection import Index
from foldwalk.index.files.finding import PathLike
from foldwalk.index.files.roots import rest_below
from foldwalk.index.sync import folders_of
from foldwalk.index.types import AddReport
from foldwalk.stores import Busy

SETTLED = 1.0  # seconds without a change after which a file is taken for whole
LOOK_EVERY = 500  # milliseconds between looks at what else may have changed
GROUPED = 2_000  # milliseconds at most, of changes that are taken up together


class _Settling:
    """Tells which files were written to a moment ago, and remembers that there were any."""

    def __init__(self) -> None:
        self.any = False

    def __call__(self, path: Path) -> bool:
        try:
            fresh = 0 <= time.time() - path.stat().st_mtime < SETTLED
        except OSError:
            return False
        self.any |= fresh
        return fresh


class _Told:
    """Leaves out of a report what an earlier one said."""

    def __init__(self) -> None:
        self._said: set[object] = set()

    def news(self, report: AddReport) -> AddReport:
        new = replace(
            report,
            notes=[note for note in report.notes if note not in self._said],
            skipped=[bad for bad in report.skipped if bad not in self._said],
        )
        self._said = {*report.notes, *report.skipped}
        return new


def watch(
    index: Index,
    folders: Iterable[PathLike] | None = None,
    force: bool = False,
    stop: threading.Event | None = None,
) -> Iterator[AddReport]:
    """Sync with the folders of an index, or with those named, whenever something happens in them.

    One report for the beginning, and one for each time that something changed, until `stop` is set.
    """
    named = None if folders is None else list(folders)
    stop, told, settling = stop or threading.Event(), _Told(), _Settling()
    first = due = True
    while not stop.is_set():
        present = _present(index, named)
        for happened in _occasions(index, list(present), stop):
            if due or happened:
                settling.any = False
                try:
                    report = index.sync(named, force, settling)
                    due = settling.any
                except Busy as error:  # its turn comes
                    report, due = AddReport(notes=[str(error)]), True
                report = told.news(report)
                if first or _says_something(report):
                    yield report
                first = False
            if _present(index, named) != present:  # a disk was plugged in or out
                due = True
                break


def _present(index: Index, named: list[PathLike] | None) -> dict[str, tuple[int, int]]:
    """The folders that are there, each with what tells it from another one in its place."""
    found = {}
    for folder in folders_of(index.store, named):
        with suppress(OSError):
            status = os.stat(folder)
            found[os.path.realpath(folder)] = status.st_dev, status.st_ino
    return found


def _occasions(index: Index, folders: list[str], stop: threading.Event) -> Iterator[bool]:
    """Again and again, whether something happened in the folders just now."""
    watchfiles = _watchfiles()
    if not folders:
        while not stop.wait(LOOK_EVERY / 1000):
            yield False
        return
    own = os.path.realpath(index.store.place)

    def concerns(path: str) -> bool:
        below = [rest for folder in folders if (rest := rest_below(path, folder)) is not None]
        hidden = any(name.startswith(".") for name in min(below, key=len, default="").split("/"))
        return rest_below(path, own) is None and not hidden

    # No filter of its own: where it leaves out everything, it does not come back to look at the rest.
    options = {"watch_filter": None, "ignore_permission_denied": True, "yield_on_timeout": True}
    try:
        for changes in watchfiles.watch(
            *folders, rust_timeout=LOOK_EVERY, debounce=GROUPED, stop_event=stop, **options
        ):
            yield any(concerns(path) for _, path in changes)
    except FileNotFoundError:  # gone since it was looked for; the next look will tell
        yield True
    except RuntimeError as error:  # what watchfiles raises where the system has no more watches to give
        raise BadInput(
            f"the folders cannot be watched: {error}; WATCHFILES_FORCE_POLLING=1 may help."
        ) from None


def _watchfiles() -> Any:
    try:
        import watchfiles
    except ImportError:
        raise MissingExtra("watchfiles", "watch", "watching folders") from None
    return watchfiles


def _says_something(report: AddReport) -> bool:
    counts = (report.added, report.replaced, report.removed, len(report.moved))
    return any(counts) or bool(report.notes) or bool(report.skipped)
