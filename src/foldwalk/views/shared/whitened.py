"""Views along the principal axes of the square roots, frequent directions scaled down by a power.

H. Jégou and O. Chum, "Negative evidences and co-occurrences in image retrieval", ECCV 2012, whiten fully
(power 1). On frozen features that blows up noise; a smaller power keeps what is gained.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.types import AnyArray, Float32Array
from foldwalk.views.base import Collection, View, root, unit
from foldwalk.views.shared.axes import Axes

PARTS = ("mean", "axes", "singular")


class Whitened(View):
    power: ClassVar[float]
    axes: Axes

    def learn(self, collection: Collection) -> Self:
        self.axes = collection.rooted_axes
        return self

    def see(self, values: Float32Array) -> Float32Array:
        return unit(self.axes.coordinates(root(values), self.power))

    def state(self) -> dict[str, AnyArray]:
        return {"mean": self.axes.mean, "axes": self.axes.axes, "singular": self.axes.singular}

    def restore(self, state: dict[str, AnyArray], dim: int) -> Self:
        parts = [np.asarray(state.get(name, np.zeros(0))) for name in PARTS]
        mean, axes, singular = parts
        sized = mean.shape == (dim,) and axes.shape == (dim, len(singular)) and singular.ndim == 1
        sized = sized and state.keys() == {*PARTS}
        if not (sized and all(p.dtype == np.float32 and np.isfinite(p).all() for p in parts)):
            raise BadInput(f"what is kept of the view {self.name} does not fit vectors of {dim} dimensions.")
        if not (singular > 0).all():
            raise BadInput(f"what is kept of the view {self.name} has an axis without length.")
        self.axes = Axes(mean, axes, singular)
        return self
