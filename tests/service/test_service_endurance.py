"""A few seconds of what benchmarks/service/restarts.py does for an hour."""

from __future__ import annotations

from pathlib import Path

import pytest

from endurance import run_endurance
from endurance_clients import Caller, Figures, Ledger, lost


def test_no_acknowledged_change_is_lost_when_the_service_is_stopped_and_killed(tmp_path: Path) -> None:
    found = run_endurance(tmp_path, seconds=4, restarts=2, items=60)
    assert (found["lost"], found["verified"], found["faults"], found["tracebacks"]) == ([], True, 0, 0)
    assert [life["ended_by"] for life in found["lives"]] == ["SIGTERM", "SIGKILL", "SIGTERM"]
    assert all(life["rss_end_mb"] > 10 for life in found["lives"])
    assert found["acknowledged_keys"] > 0
    assert {"search by key", "search by upload", "look", "add", "remove"} <= found["kinds"].keys()


def test_a_lost_change_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger()
    for key, number in {"there": 1, "older": 7, "lost": 3, "removed": None, "back": None}.items():
        ledger.note(key, number)

    def ask(self: Caller, kind: str, method: str, path: str) -> tuple[int, bytes]:  # noqa: ARG001
        listing = b'{"total": 3, "keys": ["there", "older", "back"]}'
        return 200, listing if "items" in path else b'{"metadata": {"number": 5}}'

    monkeypatch.setattr(Caller, "ask", ask)
    assert lost(Caller(0, Figures(), ""), ledger) == ["lost", "back", "older"]
