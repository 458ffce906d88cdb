"""What every view is: learned once from a collection, then applied to its items, additions and queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from foldwalk.core.types import AnyArray, Float32Array
from foldwalk.views.shared.axes import Axes

# Items that a view is learned from; of more, every so many-th.
SAMPLE = 20_000


@dataclass(frozen=True)
class ViewCard:
    """What `describe` tells of a view."""

    name: str
    summary: str


class Collection:
    """What views are learned from: vectors of length one. What several views need is computed once."""

    def __init__(self, values: Float32Array) -> None:
        present = values[values.any(axis=1)]  # a zero vector has no direction to learn from
        self.values = present[:: max(1, -(-len(present) // SAMPLE))]

    @cached_property
    def rooted_axes(self) -> Axes:
        """The principal axes of the signed square roots."""
        return Axes.of(root(self.values))


class View(ABC):
    """Takes vectors of length one and gives vectors of length one. A zero vector stays zero."""

    name: ClassVar[str]
    summary: ClassVar[str]
    # What `state` holds, by a name that views share which learn the same; nothing: its own.
    learns: ClassVar[str] = ""

    @abstractmethod
    def learn(self, collection: Collection) -> Self:
        """Look at the collection once."""

    @abstractmethod
    def see(self, values: Float32Array) -> Float32Array:
        """The rows in this view; the same whoever else is asked about."""

    def state(self) -> dict[str, AnyArray]:
        """What was learned, as plain arrays."""
        return {}

    def restore(self, state: dict[str, AnyArray], dim: int) -> Self:  # noqa: ARG002
        """The opposite of `state`, for vectors of `dim` numbers; refuses what cannot have been learned."""
        return self


def root(values: Float32Array) -> Float32Array:
    """The square root of every number, its sign kept, scaled to length one again: bursts count for less."""
    return unit(np.sign(values) * np.sqrt(np.abs(values)))


def unit(values: Float32Array) -> Float32Array:
    lengths = np.sqrt(np.einsum("ij,ij->i", values, values, dtype=np.float64))[:, None]
    return np.asarray(values / np.where(lengths > 0, lengths, 1), np.float32)
