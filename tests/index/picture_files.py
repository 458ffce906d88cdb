"""Tiny pictures on the disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image


def draw(path: Path, seed: int, side: int = 4) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    values = np.random.default_rng(seed).integers(0, 255, (4, 4, 3), dtype=np.uint8)
    Image.fromarray(values).resize((side, side), Image.Resampling.NEAREST).save(path)
    return path
