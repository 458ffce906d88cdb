"""Every view by name. A view registers itself; a file here is found. Views joined by + follow each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np

from foldwalk.core.registry import Registry
from foldwalk.core.types import AnyArray, Float32Array
from foldwalk.views.base import Collection, View, ViewCard

_views: Registry[type[View]] = Registry("view", ["foldwalk.views"])
Kind = TypeVar("Kind", bound=type[View])


def register(view: Kind) -> Kind:
    """Class decorator: make a view known by its name."""
    _views.register(view)
    return view


def names() -> list[str]:
    """Every view."""
    return _views.names()


def describe(name: str) -> ViewCard:
    """A view's card."""
    view = _views.get(name)
    return ViewCard(view.name, view.summary)


class Chain:
    """Views one after the other: the second is learned from what the first makes of the collection."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.views = [_views.get(part)() for part in name.split("+")]

    def learn(self, collection: Collection) -> Chain:
        for place, view in enumerate(self.views):
            view.learn(collection)
            if place + 1 < len(self.views):
                collection = Collection(view.see(collection.values))
        return self

    def see(self, values: Float32Array) -> Float32Array:
        for view in self.views:
            values = view.see(values)
        return np.ascontiguousarray(values)

    def state(self) -> dict[str, AnyArray]:
        return {f"{place}.{name}": array for place, view in enumerate(self.views)
                for name, array in view.state().items()}  # fmt: skip

    def restore(self, state: dict[str, AnyArray], dim: int) -> Chain:
        for place, view in enumerate(self.views):
            prefix = f"{place}."
            own = {name.removeprefix(prefix): a for name, a in state.items() if name.startswith(prefix)}
            view.restore(own, dim)
            dim = view.see(np.zeros((1, dim), np.float32)).shape[1]
        return self


def create(name: str) -> Chain:
    """A view, or several joined by + (root+w50), that has seen no collection yet."""
    return Chain(name)


def learn(wanted: Iterable[str], values: Float32Array) -> dict[str, Chain]:
    """Views of a collection of vectors of length one; what they share is computed once."""
    collection = Collection(values)
    return {name: create(name).learn(collection) for name in wanted}


def restore(states: dict[str, dict[str, AnyArray]], dim: int) -> dict[str, Chain]:
    """Views that were learned before, by what `state` gave of each."""
    return {name: create(name).restore(state, dim) for name, state in states.items()}
