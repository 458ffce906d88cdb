"""The same line is logged once in a while, then with a count."""

from __future__ import annotations

import logging
import time

import pytest

from foldwalk.service.quiet_log import SeldomTheSame


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch):
    """``log(seconds, words, value)`` at a time of one's choice; gives what has been written so far."""
    logger = logging.getLogger("foldwalk.test-of-the-log")
    seldom = SeldomTheSame(10)
    logger.addFilter(seldom)

    def write(at: float, words: str, *values: object) -> list[str]:
        monkeypatch.setattr(time, "monotonic", lambda: at)
        logger.warning(words, *values)
        return caplog.messages

    yield write
    logger.removeFilter(seldom)


def test_the_same_line_is_held_back_and_counted(log) -> None:
    for second in range(9):
        log(100 + second, "stranger %s", second)
    assert log(109, "another line") == ["stranger 0", "another line"]
    assert log(110, "stranger %s", 9)[-1] == "stranger 9 (and 8 more like it before)"
    assert log(121, "stranger %s", 10)[-1] == "stranger 10"


def test_what_stands_below_the_first_line_makes_no_other_line(log) -> None:
    for number in range(9):
        written = log(100, f"callback failed\nhandle: {number}")
    assert written == ["callback failed\nhandle: 0"]


def test_lines_without_end_are_not_all_remembered(log) -> None:
    for number in range(3000):
        written = log(100, f"line {number}")
    assert len(written) == 3000


def test_errors_of_two_kinds_are_two_lines(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("foldwalk.test-of-errors")
    logger.addFilter(SeldomTheSame(3600))
    for _ in range(5):
        for fault in (lambda: 1 // 0, lambda: {}["x"]):
            try:
                fault()
            except (ZeroDivisionError, KeyError):
                logger.exception("it failed")
    assert len(caplog.messages) == 2
