"""Small pictures and files, to build a data set in its published layout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


def draw(path: Path, size: tuple[int, int] = (6, 4), grey: int = 100) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", size, grey).save(path)
    return path


@pytest.fixture
def draw_picture() -> Callable[..., Path]:
    """Write a small grey picture, with the folders above it."""
    return draw


@pytest.fixture
def write() -> Callable[[Path, str], Path]:
    """Write a text file, with the folders above it."""

    def write_text(path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write_text


@pytest.fixture
def save_features() -> Callable[..., Path]:
    """Write <root>/features/NAME.npz."""

    def save(root: Path, name: str, **arrays: np.ndarray) -> Path:
        path = root / "features" / f"{name}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, **arrays)
        return path

    return save


@pytest.fixture(autouse=True)
def no_other_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test names its data folder itself."""
    monkeypatch.delenv("FOLDWALK_DATA", raising=False)
