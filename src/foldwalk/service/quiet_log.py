"""A log that no stranger can fill: the same line is written at most so often, then with a count."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from types import TracebackType

_LOGGERS = ("foldwalk.service", "uvicorn.error", "asyncio")
_MOST_LINES = 1_000


@dataclass
class _Line:
    written: float
    held_back: int = 0


class SeldomTheSame(logging.Filter):
    """The same are lines whose words before filling in are, and the kind and place of their error."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
        self._lines: dict[object, _Line] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        kind, _, trace = record.exc_info or (None, None, None)
        first_line = str(record.msg).partition("\n")[0]  # asyncio tells of times and addresses below it
        same = (record.name, first_line, kind, _place(trace))
        line = self._lines.get(same)
        if line is not None and now < line.written + self.seconds:
            line.held_back += 1
            return False
        if line is not None and line.held_back:
            record.msg = f"{record.msg} (and {line.held_back} more like it before)"
        if len(self._lines) >= _MOST_LINES:
            self._lines.clear()
        self._lines[same] = _Line(now)
        return True


def _place(trace: TracebackType | None) -> tuple[str, int] | None:
    if trace is None:
        return None
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename, trace.tb_lineno


def keep_quiet(seconds: float) -> None:
    """For everything that requests can cause to be logged."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        for old in [each for each in logger.filters if isinstance(each, SeldomTheSame)]:
            logger.removeFilter(old)
        logger.addFilter(SeldomTheSame(seconds))
