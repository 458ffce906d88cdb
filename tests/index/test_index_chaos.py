"""A short form of benchmarks/index/chaos.py: a few kills, a few seconds of readers, a few broken pictures."""

from __future__ import annotations

from pathlib import Path

import chaos
from chaos_readers import run_readers


def test_killed_at_any_moment_it_opens_as_it_was_committed(tmp_path: Path):
    result = chaos.run_kills(6, tmp_path, seed=1)
    assert result["problems"] == []
    assert result["changes_committed"] > 5


def test_an_index_that_was_killed_while_it_was_made_goes_on(tmp_path: Path):
    result = chaos.run_index_kills(4, tmp_path, seed=1)
    assert result["problems"] == []
    assert sum(result["found"].values()) == 4


def test_readers_beside_a_writer_see_whole_versions(tmp_path: Path):
    result = run_readers(3, 2, tmp_path, methods=("plain",))
    assert result["problems"] == []
    assert result["processes_that_failed"] == 0
    assert len(result["versions_seen"]) == 3
    assert min(result["versions_seen"]) >= 3


def test_broken_pictures_are_left_out_and_good_ones_kept(tmp_path: Path):
    result = chaos.run_broken(40, 20, tmp_path)
    assert result["problems"] == []
    assert result["added"] == 20
    assert sum(result["left_out"].values()) == 40
    assert len(result["left_out"]) == 10
