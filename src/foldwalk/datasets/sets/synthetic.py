"""Curved manifolds with distractors: data of any size on which plain search is clearly imperfect.

Each class is a smooth random curve (or, for every second class, a surface) around its centre c,

    z(t) = c + sum_h a_h cos(pi h t_1) / h  [ + sum_h b_h cos(pi h t_2) / h ],   h = 1..3,  t in [0, 1]^2,

in a space of few dimensions that all classes share, so that curves pass close to one another; z is brought to
length one, turned into d dimensions and given noise in all of them. A distractor is a point of the same space
on no curve.

The same bytes come out whatever the number of threads and the matrix library: sums are written out, or left
to numpy's own, which adds in one order. A BLAS rounds in an order that depends on both.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.seeds import generator
from foldwalk.core.types import AnyArray, Float32Array, Float64Array, IntArray
from foldwalk.datasets.dataset import Dataset
from foldwalk.datasets.sources import Kind, Source
from foldwalk.evaluate import QueryGallery

SHARED_DIMENSIONS = 10
HARMONICS = 3
BEND = 0.62  # size of the curves, measured by the spread of their centres
OFFSET = 0.55  # of all centres from the origin: descriptors have a mean, too
NOISE = 0.3  # length of the noise, measured by the length of z
BLOCK = 16_384


class Synthetic(Source):
    name = "synthetic"
    title = "curved manifolds with distractors (synthetic)"
    what = (
        'unit vectors in 256 dimensions, a fifth of them distractors, 100 queries; "synthetic:5000" has 5,000'
    )
    source = "foldwalk itself, which draws it"
    reference = "none"
    always_there = True

    def __init__(self, n: int = 1000) -> None:
        self.n = n

    def with_argument(self, argument: str) -> Source:
        if not argument.isascii() or not argument.isdigit():
            return super().with_argument(argument)
        return Synthetic(int(argument))

    def load(self, root: Path | None, kind: Kind) -> Dataset:  # noqa: ARG002
        if kind not in ("auto", "features"):
            raise BadInput('synthetic has no pictures; load "synthetic".')
        return synthetic(self.n)


@dataclass(frozen=True, eq=False)
class _Manifolds:
    centres: Float32Array  # (classes, shared)
    waves: Float32Array  # (classes, 2 * harmonics, shared)
    offset: Float32Array  # (shared,)
    rotation: Float32Array  # (shared, d)


def synthetic(
    n: int,
    d: int = 256,
    queries: int = 100,
    clusters: int | None = None,
    distractors: float = 0.2,
    seed: int = 0,
) -> Dataset:
    """n unit vectors in d dimensions on curved manifolds, and queries from the same manifolds.

    `clusters` is the number of classes (None: 1.26 times the square root of n, 40 for n = 1000);
    `distractors` the share of the gallery that belongs to none (label -1).
    """
    rng = generator(seed, "synthetic")
    members = n - round(n * distractors) if 0 <= distractors < 1 else 0
    classes = max(1, round(1.26 * n**0.5)) if clusters is None and n > 0 else clusters or 0
    if classes < 1 or members < 2 * classes or queries < 1 or d < 2:
        raise BadInput(
            f"synthetic needs at least two items per class, one query and two dimensions, but got n={n}, "
            f"clusters={clusters}, distractors={distractors}, queries={queries}, d={d}."
        )
    weights = rng.gamma(5.0, size=classes)
    sizes = 2 + rng.multinomial(members - 2 * classes, weights / weights.sum())
    labels = np.full(n, -1, dtype=np.int64)
    labels[:members] = np.repeat(np.arange(classes), sizes)
    rng.shuffle(labels)
    query_labels = np.sort(rng.choice(classes, size=queries, p=sizes / members))
    manifolds = _draw_manifolds(classes, d, rng)
    gallery = _sample(labels, manifolds, rng)
    return Dataset(
        f"synthetic:{n}",
        "features",
        gallery,
        _sample(query_labels, manifolds, rng),
        QueryGallery(query_labels, labels),
        labels=labels,
    )


def _draw_manifolds(classes: int, d: int, rng: np.random.Generator) -> _Manifolds:
    shared = min(SHARED_DIMENSIONS, d)
    offset = rng.normal(size=shared)
    offset *= OFFSET / _lengths(offset)
    waves = rng.normal(size=(classes, 2, HARMONICS, shared)) * (BEND / shared**0.5)
    waves /= np.arange(1, HARMONICS + 1)[:, None]
    waves[::2, 1] = 0  # every second class is a curve, the others are surfaces
    rotation = _orthonormal(rng.normal(size=(d, shared))).T
    return _Manifolds(
        (rng.normal(size=(classes, shared)) / shared**0.5 + offset).astype(np.float32),
        waves.reshape(classes, 2 * HARMONICS, shared).astype(np.float32),
        offset.astype(np.float32),
        np.ascontiguousarray(rotation, dtype=np.float32),
    )


def _lengths(rows: AnyArray) -> AnyArray:
    return np.asarray(np.sqrt(np.square(rows).sum(axis=-1, keepdims=True)))


def _orthonormal(columns: Float64Array) -> Float64Array:
    """Q of columns = Q R, by Householder's reflections."""
    rest, reflections = columns.copy(), []
    for j in range(columns.shape[1]):
        mirror = rest[j:, j].copy()
        mirror[0] += np.copysign(_lengths(mirror)[0], mirror[0])
        reflections.append((mirror / _lengths(mirror))[:, None])
        rest[j:] -= 2 * reflections[j] * (reflections[j] * rest[j:]).sum(axis=0)
    out = np.eye(*columns.shape)
    for j in reversed(range(columns.shape[1])):
        out[j:] -= 2 * reflections[j] * (reflections[j] * out[j:]).sum(axis=0)
    return out


def _sample(labels: IntArray, manifolds: _Manifolds, rng: np.random.Generator) -> Float32Array:
    """One point for each label, in blocks: beside the result only a few megabytes are needed."""
    shared, d = manifolds.rotation.shape
    out = np.empty((len(labels), d), dtype=np.float32)
    angles = np.pi * np.arange(1, HARMONICS + 1, dtype=np.float32)
    term = np.empty((min(BLOCK, len(labels)), d), dtype=np.float32)
    # A distractor spreads as far around the offset as the points of a class do.
    spread = np.float32(((1 + BEND**2 * np.sum(0.75 / np.arange(1, HARMONICS + 1) ** 2)) / shared) ** 0.5)
    for start in range(0, len(labels), BLOCK):
        block = labels[start : start + BLOCK]
        places = rng.random((len(block), 2, 1), dtype=np.float32)
        basis = np.cos(places * angles).reshape(len(block), 2 * HARMONICS)
        points = manifolds.centres[block] + (basis[:, :, None] * manifolds.waves[block]).sum(axis=1)
        alone = block < 0
        strays = rng.standard_normal((len(block), shared), dtype=np.float32) * spread + manifolds.offset
        points[alone] = strays[alone]
        points /= _lengths(points)
        vectors = out[start : start + len(block)]
        rng.standard_normal(vectors.shape, dtype=np.float32, out=vectors)
        vectors *= np.float32(NOISE / d**0.5)
        for axis in range(shared):
            vectors += np.multiply(points[:, axis, None], manifolds.rotation[axis], out=term[: len(block)])
        vectors /= _lengths(vectors)
    return out


SOURCES = (Synthetic(),)
