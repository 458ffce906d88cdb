"""A quiet look at an index that was opened: what is damaged is known before it has given many wrong answers.

It waits until short calls are over, reads at the lowest priority with a rest after each step, and ends with
the process. What it finds, the next call says.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

from foldwalk.core.errors import FoldwalkError
from foldwalk.stores.folder.checking import steps
from foldwalk.stores.folder.connecting import connect
from foldwalk.stores.folder.errors import damaged

DELAY = 2.0  # seconds until it begins
REST = 2.0  # times as long as a step took


class Watch:
    def __init__(self, index: Path) -> None:
        self.index = index
        self.finished = threading.Event()
        self._stop = threading.Event()
        self._found: list[str] = []

    def start(self) -> None:
        threading.Thread(target=self._run, name="foldwalk-watch", daemon=True).start()

    def stop(self) -> None:
        self._stop.set()

    def check(self) -> None:
        """Raise what was found."""
        if self._found:
            raise damaged(self.index, self._found[0])

    def forgive(self) -> None:
        """For those who mend the index: look no further, and keep to oneself what was found."""
        self.stop()
        self._found = []

    def _run(self) -> None:
        if not self._stop.wait(DELAY):
            _lowest_priority()
            # What cannot be opened now, the next call will say.
            with suppress(FoldwalkError, OSError, sqlite3.Error):
                self._look()
        self.finished.set()

    def _look(self) -> None:
        with closing(connect(self.index, "ro")) as db:
            began = time.perf_counter()
            for found in steps(db, self.index):
                rest = REST * (time.perf_counter() - began)
                if found and not self._stop.is_set():
                    self._found = found
                if found or self._stop.wait(rest):
                    return
                began = time.perf_counter()


def _lowest_priority() -> None:
    if sys.platform == "linux":  # where a thread has a priority of its own
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
