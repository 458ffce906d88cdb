"""Models that were trained on the collection: kept with it, and used until a new training replaces them.

What is fitted is forgotten when the vectors change. A model is not: training takes long, and items that come
later get their features from it. It carries the numbers of the items that it was trained on, which say who
came and who went since. Its version is the moment of the training, in nanoseconds.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwalk.core.checked_arrays import checked_rising
from foldwalk.core.errors import BadInput
from foldwalk.core.json_text import read_json_object
from foldwalk.core.types import IntArray
from foldwalk.index.types import ModelState
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.learned.gradnet import GradNetMethod
from foldwalk.rerank.learned.gradnet.grown import GrownGradNet
from foldwalk.rerank.saving import as_arrays, from_arrays
from foldwalk.stores import Store
from foldwalk.stores.arrays import get_arrays, put_arrays

KIND = "model"


@dataclass(frozen=True, eq=False)
class Model:
    """A method as training left it, and the numbers of the items in the order of its gallery."""

    method: GradNetMethod
    numbers: IntArray

    def on(self, numbers: IntArray) -> Reranker:
        """The method for the items of today, to be adopted."""
        return GrownGradNet(self.method, rows_of(numbers, self.numbers))


class KeptModels:
    """The models of one store, one for each method."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def names(self) -> list[str]:
        """The methods that were trained."""
        return sorted({group.kind.removeprefix(f"{KIND}/") for group in self.store.groups(KIND)})

    def version(self, name: str) -> int | None:
        """Of the newest model of a method; None where none was trained."""
        return max((group.version for group in self.store.groups(f"{KIND}/{name}")), default=None)

    def trained_with(self, name: str) -> dict[str, Any] | None:
        """The parameters and the seed of the newest; None where there is none that can be read."""
        version = self.version(name)
        found = None if version is None else get_arrays(self.store, f"{KIND}/{name}", version, ["header"])
        try:
            header = read_json_object(str(found["header"]), "the header") if found else None
            return None if header is None else {**header["parameters"], "seed": header["seed"]}
        except (ValueError, KeyError, TypeError):
            return None

    def load(self, name: str) -> Model | None:
        """The newest; None where there is none that can be read."""
        version = self.version(name)
        arrays = None if version is None else get_arrays(self.store, f"{KIND}/{name}", version)
        if arrays is not None:
            with suppress(Exception):  # whole, but not what it should be: as if it were absent
                numbers = checked_rising(arrays.pop("numbers"), "numbers")
                method = from_arrays(arrays)
                if isinstance(method, GradNetMethod) and len(method.vectors) == len(numbers):
                    return Model(method, numbers)
        return None

    def save(self, method: GradNetMethod, numbers: IntArray) -> int | None:
        """Keep it in place of the one before; None where there is no room or no right to write."""
        if len(numbers) != len(method.vectors):
            raise BadInput(f"the model was trained on {len(method.vectors)} items, not on {len(numbers)}.")
        kind, version = f"{KIND}/{method.name}", time.time_ns()
        if not put_arrays(self.store, kind, version, as_arrays(method) | {"numbers": numbers}):
            return None
        for older in self.store.groups(kind):
            if older.version < version:
                self.store.drop_rows(*older)
        return version

    def can_keep(self) -> bool:
        """Whether there is the right to write, to be asked before a long training."""
        probe = f"{KIND}-probe"
        kept = self.store.put_rows(probe, 0, {})
        self.store.drop_rows(probe, 0)
        return kept

    def states(self, numbers: IntArray) -> tuple[ModelState, ...]:
        """What is kept, and how the collection has changed since."""
        found = (self.state(name, numbers) for name in self.names())
        return tuple(state for state in found if state is not None)

    def state(self, name: str, numbers: IntArray) -> ModelState | None:
        """The same of one method, without reading its features."""
        version = self.version(name)
        found = None if version is None else get_arrays(self.store, f"{KIND}/{name}", version, ["numbers"])
        if not found:
            return None
        try:
            seen = checked_rising(found["numbers"], "numbers")
        except BadInput:
            return None
        came = int((rows_of(numbers, seen) < 0).sum())
        return ModelState(name, len(seen), came, len(seen) + came - len(numbers))


def rows_of(numbers: IntArray, among: IntArray) -> IntArray:
    """The place of each number among others, -1 where it is not; both rise."""
    places = np.minimum(np.searchsorted(among, numbers), max(len(among) - 1, 0))
    return np.where(among[places] == numbers, places, -1) if len(among) else np.full(len(numbers), -1)
