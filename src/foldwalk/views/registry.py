"""Every view by name. A view registers itself; a file here is found. Views joined by + follow each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

import numpy as np

from foldwalk.core.errors import BadInput
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
        """What each view learned; what two chains learned from the same has the same name in both."""
        return {
            prefix + name: array for prefix, view in self._prefixes() for name, array in view.state().items()
        }

    def restore(self, state: Mapping[str, AnyArray], dim: int) -> Chain:
        """From the state of this chain, or of several."""
        for prefix, view in self._prefixes():
            own = {name.removeprefix(prefix): a for name, a in state.items() if name.startswith(prefix)}
            view.restore(own, dim)
            dim = view.see(np.zeros((1, dim), np.float32)).shape[1]
        return self

    def _prefixes(self) -> Iterator[tuple[str, View]]:
        """Of what each view keeps: through which others it saw the collection, and what it learns."""
        before = ""
        for view in self.views:
            yield f"{before}{view.learns or view.name}.", view
            before += f"{view.name}+"


def create(name: str) -> Chain:
    """A view, or several joined by + (root+w50), that has seen no collection yet."""
    return Chain(name)


def learn(wanted: Iterable[str], values: Float32Array) -> dict[str, Chain]:
    """Views of a collection of vectors of length one; what they share is computed once."""
    collection = Collection(values)
    return {name: create(name).learn(collection) for name in wanted}


def state(learned: Iterable[Chain]) -> dict[str, AnyArray]:
    """What views learned, as plain arrays; what they share is there once."""
    return {name: array for view in learned for name, array in view.state().items()}


def restore(wanted: Iterable[str], state: Mapping[str, AnyArray], dim: int) -> dict[str, Chain]:
    """Views that were learned before, by what `state` gave of all of them together."""
    found = {name: create(name).restore(state, dim) for name in wanted}
    others = sorted(set(state).difference(*(view.state() for view in found.values())))
    if others:
        raise BadInput(f"{others[0]} belongs to none of the views {', '.join(found)}.")
    return found
