"""How much memory a piece of work needs at its highest."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

HOW = "highest resident set (VmHWM, reset before) minus the resident set before; measured on Linux only"


class PeakMemory:
    """``with PeakMemory() as peak: ...`` and then `peak.megabytes`; NaN where the system does not tell."""

    megabytes = float("nan")

    def __enter__(self) -> PeakMemory:
        try:
            Path("/proc/self/clear_refs").write_text("5")  # 5: forget the highest resident set so far
            self._before = _status_mb("VmRSS")
        except OSError:
            self._before = float("nan")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before == self._before:
            self.megabytes = max(_status_mb("VmHWM") - self._before, 0.0)


def _status_mb(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    return float("nan")
