"""Measurements side by side with plain search, and as files."""

from __future__ import annotations

import csv
import io
import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from foldwalk import __version__
from foldwalk.core.json_text import to_json
from foldwalk.core.whole_files import write_whole
from foldwalk.machine import peak_memory
from foldwalk.measure.jobs import Measurement

BASELINE = "plain"


@dataclass(frozen=True, eq=False)
class Comparison:
    """What was measured on one data set: plain search and the methods beside it."""

    dataset: str
    plain: Measurement
    others: tuple[Measurement, ...]

    @property
    def all(self) -> tuple[Measurement, ...]:
        return (self.plain, *self.others)

    @property
    def succeeded(self) -> tuple[Measurement, ...]:
        return tuple(m for m in self.all if m.failure is None)

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the figures, the headline first."""
        if not self.succeeded:
            return ()
        first = self.succeeded[0]
        return (first.main, *(key for key in first.figures if key != first.main))

    def change(self, measurement: Measurement, key: str) -> float:
        """Percentage points over plain search, as printed; NaN for plain itself or if plain failed."""
        if measurement is self.plain or self.plain.failure is not None:
            return math.nan
        return round(100 * (measurement.figures[key] - self.plain.figures[key]), 2)

    @property
    def caption(self) -> str:
        """How the figures came about, in one line."""
        if not self.succeeded:
            return "every method failed"
        first = self.succeeded[0]
        route = ", queries not in the graph" if first.inductive else ""
        return (
            f"{first.protocol}, {first.n_queries} queries over {first.n_gallery} items{route}, "
            f"judged over the first {first.depth} of each ranking"
        )


def compare(measurements: Sequence[Measurement]) -> list[Comparison]:
    """One comparison per data set, in the order of the measurements; each needs a row of plain search."""
    by_dataset: dict[str, list[Measurement]] = {}
    for measurement in measurements:
        by_dataset.setdefault(measurement.dataset, []).append(measurement)
    return [
        Comparison(
            dataset,
            next(m for m in rows if m.method == BASELINE),
            tuple(m for m in rows if m.method != BASELINE),
        )
        for dataset, rows in by_dataset.items()
    ]


def describe_run(command: str) -> dict[str, Any]:
    """What a reader needs to judge or repeat the measurements."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "foldwalk": __version__,
        **{package: version(package) for package in ("numpy", "scipy", "numba", "faiss-cpu")},
        "peak_mb": peak_memory.HOW,
    }


def as_dict(measurements: Sequence[Measurement], run: Mapping[str, Any]) -> dict[str, Any]:
    return {"run": dict(run), "results": [m.as_dict() for m in measurements]}


def write_json(path: Path, measurements: Sequence[Measurement], run: Mapping[str, Any]) -> None:
    write_whole(path, to_json(as_dict(measurements, run)).encode())


def write_csv(path: Path, measurements: Sequence[Measurement]) -> None:
    """One row per data set and method; a column for every figure that any protocol gave."""
    rows = [_flat(m) for m in measurements]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, text.getvalue().encode(errors="backslashreplace"))


def _flat(measurement: Measurement) -> dict[str, Any]:
    row = {k: v for k, v in measurement.as_dict().items() if k not in ("figures", "parameters", "failure")}
    row["parameters"] = " ".join(f"{name}={value}" for name, value in measurement.parameters.items())
    row["failure"] = measurement.failure or ""
    row.update(measurement.figures)
    return {key: "" if isinstance(v, float) and math.isnan(v) else v for key, v in row.items()}


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
