"""A service under mixed load that is stopped and killed now and then; a short form of it is a test.

Clients search by key and by upload, look at items, add and remove; a second process adds through the library.
In the first half of the time the service is ended and started again, by SIGTERM and kill -9 in turn. The
second half is one life, so that growing memory shows. After each start, and at the end in the files
themselves, every acknowledged change is looked for.
"""

from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from endurance_clients import Caller, Figures, Ledger, lost
from endurance_load import TOKEN, adding, load, picture
from foldwalk.index import Index


def make_collection(path: Path, items: int) -> None:
    folder = path.with_name("pictures")
    folder.mkdir()
    for number in range(items):
        (folder / f"{number}.png").write_bytes(picture(number))
    with Index.create(path, backbone="pixels") as index:
        index.add_images(folder)


class Service:
    """``foldwalk serve`` at one port through several lives."""

    def __init__(self, path: Path, log: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.lives: list[dict[str, Any]] = []
        self._path, self._log = path, log

    def start(self, caller: Caller) -> None:
        command = [sys.executable, "-m", "foldwalk", "serve", str(self._path), "--port", str(self.port)]
        with self._log.open("a") as log:
            environment = os.environ | {"FOLDWALK_TOKEN": TOKEN}
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        while not caller.ask("health", "GET", "/api/health")[0]:
            assert self._process.poll() is None, f"the service did not start: {self._log.read_text()}"
        self.lives.append({"rss_warm_mb": 0.0})

    def is_warm(self) -> None:
        self.lives[-1]["rss_warm_mb"] = self._rss()

    def end(self, how: signal.Signals) -> None:
        self.lives[-1] |= {"rss_end_mb": self._rss(), "ended_by": how.name}
        self._process.send_signal(how)
        began = time.perf_counter()
        self._process.wait(timeout=60)
        self.lives[-1]["end_s"] = round(time.perf_counter() - began, 2)

    def _rss(self) -> float:
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)


def run_endurance(folder: Path, seconds: float, restarts: int, items: int = 300) -> dict[str, Any]:
    path, log = folder / "endurance.fold", folder / "log"
    make_collection(path, items)
    service, figures, ledger = Service(path, log), Figures(), Ledger()
    checker = Caller(service.port, Figures(), TOKEN)
    missing: list[str] = []
    lengths = [seconds / 2 / restarts] * restarts + [seconds / 2]
    endings = [*itertools.islice(itertools.cycle((signal.SIGTERM, signal.SIGKILL)), restarts), signal.SIGTERM]
    service.start(checker)
    with load(service.port, figures, ledger, items), adding(path, ledger):
        for number, (length, ending) in enumerate(zip(lengths, endings, strict=True)):
            if number:
                service.start(checker)
                missing += lost(checker, ledger)
            time.sleep(length / 3)
            service.is_warm()
            time.sleep(2 * length / 3)
            if number < restarts:
                service.end(ending)
    missing += lost(checker, ledger)
    service.end(endings[-1])
    checker.close()
    return {**_summary(figures, service, log), **_look_into(path, ledger, missing)}


def _look_into(path: Path, ledger: Ledger, missing: list[str]) -> dict[str, Any]:
    """In the files themselves, without the service."""
    with Index.open(path) as index, ledger.still() as known:
        gone = [key for key, number in known.items() if (key in index) != (number is not None)]
        verified = index.verify()
    return {
        "acknowledged_keys": len(known),
        "lost": sorted({*missing, *gone}),
        "verified": verified.ok,
        "problems": verified.problems,
    }


def _summary(figures: Figures, service: Service, log: Path) -> dict[str, Any]:
    kinds = {
        kind: {
            "answered": sum(statuses.values()),
            "p50_ms": round(1000 * float(np.percentile(figures.seconds[kind] or [0], 50)), 1),
            "p99_ms": round(1000 * float(np.percentile(figures.seconds[kind] or [0], 99)), 1),
            "refused": sum(count for status, count in statuses.items() if 400 <= status < 500),
            "faults": sum(count for status, count in statuses.items() if status >= 500),
            "broken_off": figures.broken[kind],
        }
        for kind, statuses in sorted(figures.statuses.items())
    }
    faults = sum(kind["faults"] for kind in kinds.values())
    said = log.read_text()
    return {
        "kinds": kinds,
        "lives": service.lives,
        "faults": faults,
        "log_bytes": len(said),
        "tracebacks": said.count("Traceback"),
    }
