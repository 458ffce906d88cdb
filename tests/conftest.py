"""Where tests find real data, and small synthetic data that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

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


def clustered(n: int = 120, d: int = 16, clusters: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors in a few clusters, and their labels."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % clusters
    centres = rng.normal(size=(clusters, d))
    x = centres[labels] + 0.35 * rng.normal(size=(n, d))
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32), labels
