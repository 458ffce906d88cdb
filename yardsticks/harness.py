"""Side-by-side measurements: each in a process of its own, results as JSON with the machine's description."""

from __future__ import annotations

import multiprocessing
import shlex
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from foldwalk.core.json_text import to_json
from foldwalk.core.whole_files import write_whole
from foldwalk.machine.peak_memory import PeakMemory
from foldwalk.measure.results import describe_run

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def alone(work: Callable[..., dict[str, Any]], *args: Any) -> dict[str, Any]:
    """Call `work` in a new process, so that its memory and its compiled code are its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(work, *args).result()


class Clock:
    """``with Clock() as clock: ...``, then wall and CPU seconds and peak memory."""

    def __enter__(self) -> Clock:
        self.memory = PeakMemory().__enter__()
        self.wall, self.cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *error: Any) -> None:
        self.wall, self.cpu = time.perf_counter() - self.wall, time.process_time() - self.cpu
        self.memory.__exit__(*error)

    def figures(self) -> dict[str, float]:
        return {
            "wall_s": round(self.wall, 4),
            "cpu_s": round(self.cpu, 4),
            "peak_mb": round(self.memory.megabytes, 1),
        }


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """The slope of log time over log size: 1 is linear growth, 2 quadratic."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def save(name: str, results: dict[str, Any]) -> Path:
    RESULTS.mkdir(exist_ok=True)
    target = RESULTS / f"{name}.json"
    write_whole(target, to_json({"run": describe_run(command(sys.argv)), **results}).encode())
    print(f"written: {target}")
    return target


def command(arguments: list[str]) -> str:
    """The command as others can give it: where the data lies differs from machine to machine."""
    script = Path(arguments[0])
    places = [i + 1 for i, word in enumerate(arguments) if word == "--root"]
    rest = ["DATA" if i in places else word for i, word in enumerate(arguments)][1:]
    return shlex.join(["python", "-m", f"benchmarks.{script.parent.name}.{script.stem}", *rest])
