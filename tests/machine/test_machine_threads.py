"""Threads that wait do not spin, unless the user wants them to."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PRINT = "import os, foldwalk; print(os.environ['OPENBLAS_THREAD_TIMEOUT'], os.environ['OMP_WAIT_POLICY'])"


@pytest.mark.parametrize(
    ("own", "expected"),
    [({}, "4 passive"), ({"OPENBLAS_THREAD_TIMEOUT": "20", "OMP_WAIT_POLICY": "active"}, "20 active")],
)
def test_waiting_threads(own, expected):
    kept = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_THREAD_TIMEOUT", "OMP_WAIT_POLICY")}
    answer = subprocess.run([sys.executable, "-c", PRINT], env=kept | own, capture_output=True, text=True)
    assert answer.stdout.split("\n")[0] == expected
