"""How much memory work needs at its highest."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk.machine.peak_memory import PeakMemory


def test_peak_memory_sees_what_was_freed_again_and_nothing_before() -> None:
    np.ones(40_000_000)  # 305 MB, before the clock
    with PeakMemory() as peak:
        np.ones(13_000_000)  # 99 MB
    if np.isnan(peak.megabytes):
        pytest.skip("this system does not tell a process its highest resident set")
    assert 95 < peak.megabytes < 130
