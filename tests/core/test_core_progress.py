"""Progress: silent unless asked, plain lines in a log, bars on a terminal, tasks inside tasks."""

from __future__ import annotations

import io
import re
import threading
import time

import pytest
from numba import njit
from numba.core.event import install_listener

from foldwalk.core import compiling, progress
from foldwalk.core.progress import PlainLines, RichBars, for_terminal, reporting, task


def work(label: str, steps: int) -> None:
    with task(label, total=steps) as advance:
        for _ in range(steps):
            advance(1)


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves on by one second each time it is read."""
    readings = iter(range(10_000))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(readings)))


def test_silent_by_default(capfd):
    work("quiet", 1000)
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("clock")
def test_plain_lines():
    stream = io.StringIO()
    with reporting(PlainLines(stream, every_seconds=2)):
        work("walk", 5)
    # Steps end at seconds 1 ... 5: lines at 2 and 4, each with what is left at the pace so far.
    assert stream.getvalue().splitlines() == [
        "walk: 2/5, about 3 s left",
        "walk: 4/5, about 1 s left",
        "walk: done in 6.0 s",
    ]


@pytest.mark.usefixtures("clock")
def test_quick_work_leaves_no_line():
    stream = io.StringIO()
    with reporting(PlainLines(stream, every_seconds=60)):
        work("quick", 5)
    assert stream.getvalue() == ""


@pytest.mark.usefixtures("clock")
def test_no_time_left_below_zero_and_no_division_by_zero():
    stream = io.StringIO()
    with reporting(PlainLines(stream, every_seconds=0)), task("odd", total=2) as advance:
        advance(0)
        advance(5)
    assert stream.getvalue().splitlines()[:2] == ["odd: 0/2, about 2 s left", "odd: 5/2, about 0 s left"]


@pytest.mark.usefixtures("clock")
def test_tasks_inside_tasks():
    stream = io.StringIO()
    with reporting(PlainLines(stream, every_seconds=0)), task("outer", total=2) as advance:
        for name in ("first", "second"):
            work(name, 1)
            advance(1)
    labels = [line.split(":")[0] for line in stream.getvalue().splitlines()]
    assert labels == ["first", "first", "outer", "second", "second", "outer", "outer"]


def test_work_that_fails_is_not_called_done():
    stream = io.StringIO()

    def stopped() -> None:
        with reporting(PlainLines(stream, every_seconds=0)), task("broken", 2) as advance:
            advance(1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert "1/2" in stream.getvalue()
    assert "done" not in stream.getvalue()


def test_the_reporter_is_put_back_even_after_an_error():
    outer, inner = io.StringIO(), io.StringIO()
    with reporting(PlainLines(outer, every_seconds=0)):
        with pytest.raises(ValueError), reporting(PlainLines(inner, every_seconds=0)):
            raise ValueError
        work("after", 1)
    assert inner.getvalue() == ""
    assert outer.getvalue().startswith("after: 1/1")
    assert isinstance(progress._reporter.get(), progress.Silent)


def test_another_thread_does_not_report_to_this_ones_reporter():
    stream = io.StringIO()
    with reporting(PlainLines(stream, every_seconds=0)):
        thread = threading.Thread(target=work, args=("elsewhere", 3))
        thread.start()
        thread.join()
    assert stream.getvalue() == ""


def test_bars_inside_bars_on_a_terminal(capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal, for rich
    with reporting(RichBars()), task("outer", total=2) as advance:
        work("inner", 3)
        work("nothing", 0)
        advance(5)
    out, err = capfd.readouterr()
    assert out == ""
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", err)
    assert "outer" in shown
    assert "3/3" in shown
    assert "5/2" in shown


def test_the_terminal_decides(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    asked = []
    monkeypatch.setattr(compiling, "tell_of_compiling", lambda: asked.append(True))
    monkeypatch.setattr("sys.stderr", Terminal())
    assert isinstance(for_terminal(), RichBars)
    assert asked
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stderr", pipe)
    chosen = for_terminal()
    assert isinstance(chosen, PlainLines)
    assert chosen.stream is pipe


def test_compiling_is_announced_once(capsys):
    @njit
    def one_more(number):
        return number + 1

    with install_listener("numba:compile", compiling.FirstTime()):
        one_more(1)
        one_more(1.5)
        one_more(2)
    assert capsys.readouterr().err.count("Compiling for this processor") == 1
    with install_listener("numba:compile", compiling.FirstTime()):
        one_more(3)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("bars", [True, False])
def test_a_label_cannot_speak_to_the_terminal(bars, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    reporter = RichBars() if bars else PlainLines(every_seconds=0)
    with reporting(reporter), task("\x1b]0;t\x07[bold]a[/bold]", total=2) as advance:
        advance(1)
    said = capsys.readouterr().err
    assert r"\x1b]0;t\x07[bold]a[/bold]" in said
    assert "\x1b]0" not in said


@pytest.mark.usefixtures("clock")
def test_a_note_says_how_it_goes():
    stream = io.StringIO()
    with reporting(PlainLines(stream, every_seconds=2)), task("training", total=5) as advance:
        for step in range(5):
            advance(1, f"loss 0.{step}")
    assert stream.getvalue().splitlines()[:2] == [
        "training: 2/5, loss 0.1, about 3 s left",
        "training: 4/5, loss 0.3, about 1 s left",
    ]


def test_of_several_processes_the_first_speaks(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    assert isinstance(for_terminal(), progress.Silent)
    monkeypatch.setenv("RANK", "0")
    assert not isinstance(for_terminal(), progress.Silent)
