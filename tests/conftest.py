"""Where tests find real data, and how they run a command within the process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Workers that compile at the same time must not share a cache of compiled kernels. Set before numba loads.
if "PYTEST_XDIST_WORKER" in os.environ:
    worker = os.environ["PYTEST_XDIST_WORKER"]
    os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parents[1] / ".numba" / worker))

ROOT = Path(__file__).resolve().parents[1]


def _folder(name: str) -> Path:
    if name == "data" and os.environ.get("FOLDWALK_DATA"):
        return Path(os.environ["FOLDWALK_DATA"])
    return ROOT.parent / "shared" / name


@pytest.fixture(scope="session")
def data_root() -> Path:
    folder = _folder("data")
    if not folder.is_dir():
        pytest.skip(f"the real data is not at {folder}; set FOLDWALK_DATA to where it is")
    return folder


@pytest.fixture(scope="session")
def reference_root() -> Path:
    folder = _folder("reference")
    if not folder.is_dir():
        pytest.skip(f"the reference outputs are not at {folder}")
    return folder


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder: exit code, stdout, stderr; no line is broken."""
    from foldwalk.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: object) -> tuple[int, str, str]:
        code = main._exit_code([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call
