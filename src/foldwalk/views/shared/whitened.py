"""Views along the principal axes of the square roots, frequent directions scaled down by a power.

H. Jégou and O. Chum, "Negative evidences and co-occurrences in image retrieval", ECCV 2012, whiten fully
(power 1). On frozen features that blows up noise; a smaller power keeps what is gained.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from foldwalk.core.checked_arrays import checked_numbers
from foldwalk.core.errors import BadInput
from foldwalk.core.types import AnyArray, Float32Array
from foldwalk.views.base import Collection, View, root, unit
from foldwalk.views.shared.axes import Axes

PARTS = ("mean", "axes", "singular")
LONGEST, SHORTEST = 1.01, 1e-12


class Whitened(View):
    learns = "rooted"
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
        if state.keys() != {*PARTS}:
            raise BadInput(f"what is kept of the view {self.name} is not {', '.join(PARTS)}.")
        mean, axes, singular = (np.asarray(state[name]) for name in PARTS)
        of = f"of the view {self.name}"
        # Axes have length one; whatever is larger could not have been learned, and might overflow.
        mean = checked_numbers(mean, f"the mean {of}", (dim,), low=-LONGEST, high=LONGEST)
        axes = checked_numbers(axes, f"the axes {of}", (dim, None), low=-LONGEST, high=LONGEST)
        singular = checked_numbers(singular, f"the lengths {of}", (axes.shape[1],), low=SHORTEST)
        self.axes = Axes(mean, axes, singular)
        return self
