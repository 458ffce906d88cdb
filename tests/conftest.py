"""Where tests find real data."""

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
