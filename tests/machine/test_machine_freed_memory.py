"""Freed memory is kept where the C library can do that."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from foldwalk.cli.main import run
from foldwalk.machine import freed_memory

LOOP = """
import resource, sys
import numpy as np
from foldwalk.machine.freed_memory import keep_freed_memory

if sys.argv[1] == "keep" and not keep_freed_memory():
    sys.exit(3)
np.ones(5_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    np.ones(5_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> int:
    run = subprocess.run([sys.executable, "-c", LOOP, how], capture_output=True, text=True, check=False)
    if run.returncode == 3:
        pytest.skip("the C library of this machine has no such setting")
    return int(run.stdout)


def test_pages_are_asked_for_once():
    pages = 20 * 5_000_000 * 8 // resource.getpagesize()
    assert faults("keep") < pages / 50
    assert faults("give back") > 2 * faults("keep")


def test_another_c_library(monkeypatch):
    monkeypatch.setattr(freed_memory.ctypes, "CDLL", lambda _: object())
    assert freed_memory.keep_freed_memory() is False


@pytest.mark.parametrize(("command", "kept"), [("train", True), ("methods", False)])
def test_the_command_that_trains_keeps_it(monkeypatch, command, kept):
    asked = []
    monkeypatch.setattr(freed_memory, "keep_freed_memory", lambda: asked.append(True))
    monkeypatch.setattr("sys.argv", ["foldwalk", command, "--no-such-option"])
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 2
    assert bool(asked) == kept
