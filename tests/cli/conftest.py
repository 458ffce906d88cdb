"""The command as a user starts it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Foldwalk = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def foldwalk(tmp_path: Path) -> Foldwalk:
    """Run ``python -m foldwalk`` in an empty folder; the terminal is wide, so that no line is broken."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "foldwalk", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "200"},
            timeout=300,
            check=False,
        )

    return run


@pytest.fixture
def vectors(tmp_path: Path) -> tuple[Path, Path]:
    """queries.npy (5 x 8) and gallery.npy (40 x 8)."""
    rng = np.random.default_rng(0)
    queries, gallery = tmp_path / "queries.npy", tmp_path / "gallery.npy"
    np.save(queries, rng.normal(size=(5, 8)).astype(np.float32))
    np.save(gallery, rng.normal(size=(40, 8)).astype(np.float32))
    return queries, gallery
