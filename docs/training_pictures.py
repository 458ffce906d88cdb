"""Make the pictures of docs/train.md in docs/images/: `python docs/training_pictures.py`.

Draws 240 shapes of 16 kinds into a temporary folder and trains on them without labels. Needs the extras
learn, images and plot.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

IMAGES = Path(__file__).resolve().parent / "images"
SIDES, DEPTHS, EACH = (3, 4, 5, 6), (1.0, 0.75, 0.5, 0.3), 15
SHOWN = 4  # anchors of the contact sheet
SIDE = 128


def draw(sides: int, depth: float, rng: np.random.Generator) -> Image.Image:
    """A star of so many points, or a polygon where the depth is 1, somehow turned, sized and coloured."""
    picture = Image.new("RGB", (SIDE, SIDE), tuple(rng.integers(200, 256, 3).tolist()))
    radius, turn = rng.uniform(34, 58), rng.uniform(0, 2 * np.pi)
    angles = turn + np.arange(2 * sides) * np.pi / sides
    lengths = np.where(np.arange(2 * sides) % 2 == 0, radius, radius * depth * np.cos(np.pi / sides))
    corners = SIDE / 2 + np.stack([lengths * np.cos(angles), lengths * np.sin(angles)], axis=1)
    colour = tuple(rng.integers(0, 180, 3).tolist())
    ImageDraw.Draw(picture).polygon([tuple(corner) for corner in corners.tolist()], fill=colour)
    return picture


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        shapes, out = Path(place, "shapes"), Path(place, "out")
        for kind, (depth, sides) in enumerate((d, s) for d in DEPTHS for s in SIDES):
            folder = shapes / f"{sides}-{depth}"
            folder.mkdir(parents=True)
            for number in range(EACH):
                rng = np.random.default_rng(1000 * kind + number)
                draw(sides, depth, rng).save(folder / f"{number}.png")
        command = [sys.executable, "-m", "foldwalk", "train", "mom", str(shapes), "--out", str(out)]
        subprocess.run(command, check=True)
        with Image.open(out / "mined.jpg") as sheet:
            rows = sheet.crop((0, 0, sheet.width, sheet.height * SHOWN // 8))
            rows.save(IMAGES / "train-mined.jpg", quality=80)
        (IMAGES / "train-curves.png").write_bytes((out / "curves.png").read_bytes())


if __name__ == "__main__":
    main()
