"""The toy data of GRAD-Net, section 4.1: 1,500 points in the plane that spell PAMI, a class per letter.

The letters stand so close that the Euclidean neighbourhood of a letter's end reaches into the next letter,
while along the strokes the points lie close together: who walks stays on the letter.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.seeds import generator
from foldwalk.core.types import Float64Array
from foldwalk.datasets.dataset import Dataset, Metric
from foldwalk.datasets.sources import Kind, Source
from foldwalk.evaluate import LeaveOneOut

POINTS = 1500
NOISE = 0.01  # of a letter's height

_bow = np.linspace(np.pi / 2, -np.pi / 2, 40)
# Left edge of each letter, and its strokes as lines through corners, in units of a letter's height.
LETTERS: dict[str, tuple[float, list[list[tuple[float, float]]]]] = {
    "P": (
        0.0,
        [
            [(0, 0), (0, 1)],
            [(0, 1), *((0.35 + 0.25 * np.cos(a), 0.75 + 0.25 * np.sin(a)) for a in _bow), (0, 0.5)],
        ],
    ),
    "A": (0.48, [[(0, 0), (0.4, 1), (0.8, 0)], [(0.16, 0.4), (0.64, 0.4)]]),
    "M": (1.42, [[(0, 0), (0, 1), (0.4, 0.3), (0.8, 1), (0.8, 0)]]),
    "I": (2.36, [[(0, 0), (0, 1)]]),
}


class Pami(Source):
    name = "pami"
    title = "PAMI letters (synthetic)"
    what = "1,500 points in the plane that spell PAMI; the class is the letter"
    source = "foldwalk itself, which draws it"
    reference = "GRAD-Net (graph diffusion networks), section 4.1"
    metric: Metric = "euclidean"
    always_there = True

    def load(self, root: Path | None, kind: Kind) -> Dataset:  # noqa: ARG002
        if kind not in ("auto", "features"):
            raise BadInput('pami has no pictures; load "pami".')
        points, labels = letters()
        gallery = points.astype(np.float32)
        return Dataset(self.name, "features", gallery, None, LeaveOneOut(labels), self.metric, labels=labels)


def letters(seed: int = 0) -> tuple[Float64Array, np.ndarray]:
    """The points, evenly spread along the strokes with a little noise, and the letter of each."""
    strokes = [
        (letter, np.add(corners, (left, 0.0)))
        for letter, (left, drawn) in LETTERS.items()
        for corners in drawn
    ]
    lengths = np.array([_lengths(corners)[-1] for _, corners in strokes])
    ends = np.round(POINTS * np.cumsum(lengths) / lengths.sum()).astype(int)
    counts = np.diff(ends, prepend=0)
    points = np.concatenate([_along(corners, n) for (_, corners), n in zip(strokes, counts, strict=True)])
    labels = np.repeat([letter for letter, _ in strokes], counts)
    return points + NOISE * generator(seed, "pami").normal(size=points.shape), labels


def _lengths(corners: Float64Array) -> Float64Array:
    """How far each corner is from the first, along the stroke."""
    steps = np.linalg.norm(np.diff(corners, axis=0), axis=1)
    return np.concatenate([[0.0], np.cumsum(steps)])


def _along(corners: Float64Array, count: int) -> Float64Array:
    """Points at even distances along a stroke."""
    lengths = _lengths(corners)
    places = (np.arange(count) + 0.5) / count * lengths[-1]
    return np.stack([np.interp(places, lengths, corners[:, axis]) for axis in (0, 1)], axis=1)


SOURCES = (Pami(),)
