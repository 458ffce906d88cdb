"""Views as the store keeps them: one group for those that were learned together, whole and ours or absent.

Axes that several views share are there once. A group is never changed: learned again, views are another
group with a version of its own, which the k-NN lists in them and the methods fitted in them carry, too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np

from foldwalk import __version__, views
from foldwalk.core.checked_arrays import checked_rising
from foldwalk.core.errors import BadInput
from foldwalk.core.types import AnyArray, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.index.types import ViewsState
from foldwalk.index.views.known import GRAPHS, KnownViews, ViewsOfItems, state_of
from foldwalk.stores import Facts, Store
from foldwalk.stores.arrays import get_arrays, put_arrays

KIND = "views"
KEPT = 4  # groups: whoever asks for ever other views does not fill the store
HEAD = ("origin", "names", "numbers")
LONGEST_NAMES = 100_000  # bytes
AXES = "view."


class KeptViews:
    """The views of one store, on the items of one version."""

    def __init__(self, store: Store, facts: Facts, numbers: IntArray) -> None:
        self.store, self.facts, self.numbers = store, facts, numbers

    def find(self, names: Sequence[str]) -> ViewsOfItems | None:
        """The newest with all of these names that can be read, however old they are."""
        for version, known, _ in self._heads():
            loaded = self._load(version) if {*names} <= {*known} else None
            if loaded is not None:
                return self._on_items(loaded)
        return None

    def current(self, names: Sequence[str], vectors: Vectors) -> ViewsOfItems:
        """Those that are kept, for a fit; learned from these items where there are none, or it is due."""
        found = self.find(names)
        if found is None:
            return self.learn(names, vectors)
        return self.learn(found.state.names, vectors) if found.state.due else found

    def learn(self, names: Sequence[str], vectors: Vectors) -> ViewsOfItems:
        """Learn views from the items, and keep them in place of others of these names."""
        newest = max(self._versions(), default=0)
        version = max(time.time_ns(), newest + 1)
        known = KnownViews(version, self.numbers, views.learn(names, vectors.values))
        arrays = {AXES + name: array for name, array in views.state(known.chains.values()).items()}
        arrays |= {"origin": np.array(self._origin), "names": np.array(names), "numbers": self.numbers}
        if put_arrays(self.store, KIND, version, arrays):
            self._forget_others(version, names)
        return self._on_items(known)

    def learn_again(self, vectors: Vectors) -> None:
        """All that are kept, from these items."""
        for names in [names for _, names, _ in self._heads()]:
            self.learn(names, vectors)

    def states(self) -> tuple[ViewsState, ...]:
        """What is kept, and how the collection has changed since."""
        return tuple(state_of(names, version, seen, self.numbers) for version, names, seen in self._heads())

    @property
    def _origin(self) -> str:
        """Another version of the program may see other things in the same axes."""
        return f"{__version__} {self.facts.uid}"

    def _on_items(self, known: KnownViews) -> ViewsOfItems:
        return ViewsOfItems(known, self.store, self.facts, self.numbers)

    def _versions(self) -> list[int]:
        """The newest first."""
        return sorted((group.version for group in self.store.groups(KIND)), reverse=True)

    def _heads(self) -> Iterator[tuple[int, list[str], IntArray]]:
        """Version, names and the items learned from, of what is ours; the newest first."""
        for version in self._versions():
            head = get_arrays(self.store, KIND, version, HEAD)
            with suppress(BadInput, LookupError):  # whole, but not what it should be: as if it were absent
                yield version, *self._checked_head(head or {})

    def _checked_head(self, head: dict[str, AnyArray]) -> tuple[list[str], IntArray]:
        names = head["names"]
        if names.ndim != 1 or names.dtype.kind != "U" or names.nbytes > LONGEST_NAMES:
            raise BadInput("what the views are called cannot be read.")
        if str(head["origin"]) != self._origin:
            raise BadInput("the views are not those of this collection and this program.")
        for name in names:
            views.create(str(name))  # refuses one that is unknown
        return [str(name) for name in names], checked_rising(head["numbers"], "numbers")

    def _load(self, version: int) -> KnownViews | None:
        arrays = get_arrays(self.store, KIND, version)
        with suppress(Exception):  # whole, but not what it should be
            names, numbers = self._checked_head(arrays or {})
            axes = {name.removeprefix(AXES): a for name, a in (arrays or {}).items() if name not in HEAD}
            return KnownViews(version, numbers, views.restore(names, axes, self.facts.dim or 0))
        return None

    def _forget_others(self, version: int, names: Sequence[str]) -> None:
        """What these views stand for now, what is too much, and what cannot be read, with its graphs."""
        others = [head for head in self._heads() if head[0] == version or not {*head[1]} <= {*names}]
        left = {kept for kept, _, _ in others[:KEPT]}
        for older in self._versions():
            if older not in left:
                self.store.drop_rows(KIND, older)
        for group in self.store.groups("graph"):
            of = group.kind.removeprefix(f"{GRAPHS}-").split("-")[0]
            if group.kind.startswith(f"{GRAPHS}-") and of not in map(str, left):
                self.store.drop_rows(*group)
