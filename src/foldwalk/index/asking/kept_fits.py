"""What fitting computed, as the store keeps it: one group for each method and its parameters.

What was fitted in views is nothing without them, and wrong with others: its name carries their version.
"""

from __future__ import annotations

import numpy as np

from foldwalk.core.types import AnyArray
from foldwalk.rerank.seen import LearnedViews
from foldwalk.stores import Facts, Store
from foldwalk.stores.arrays import get_arrays, put_arrays
from foldwalk.stores.types import Group

KEPT = 8
KIND = "fitted"
NOTE, LONGEST_NOTE = "note", 500


class KeptFits:
    """Those of one version of the vectors."""

    def __init__(self, store: Store, facts: Facts) -> None:
        self.store, self.version = store, facts.vectors_version

    def has(self, name: str, views: LearnedViews | None = None) -> bool:
        return Group(_kept_as(name, views), self.version) in self.store.groups(KIND)

    def load(self, name: str, views: LearnedViews | None) -> dict[str, AnyArray] | None:
        state = get_arrays(self.store, _kept_as(name, views), self.version)
        return None if state is None else {part: array for part, array in state.items() if part != NOTE}

    def save(self, name: str, views: LearnedViews | None, state: dict[str, AnyArray], note: str) -> None:
        """Where there is room, and the right to write."""
        said = {NOTE: np.array(note)} if note else {}
        if state and put_arrays(self.store, _kept_as(name, views), self.version, state | said):
            self._forget_oldest()

    def names(self) -> set[str]:
        """Of the methods."""
        return {method_of(group.kind) for group in self._current()}

    def notes(self) -> dict[str, str]:
        """What methods say they do and why, by their names; the newest of each."""
        notes: dict[str, str] = {}
        for group in self._current():
            said = (get_arrays(self.store, *group, [NOTE]) or {}).get(NOTE)
            if said is not None and said.dtype.kind == "U" and said.shape == ():
                notes[method_of(group.kind)] = str(said)[:LONGEST_NOTE]
        return notes

    def _current(self) -> list[Group]:
        return [group for group in self.store.groups(KIND) if group.version == self.version]

    def _forget_oldest(self) -> None:
        """What belongs to other versions goes, and the oldest of this one where there are many."""
        for group in set(self.store.groups(KIND)) - set(self._current()[-KEPT:]):
            self.store.drop_rows(*group)


def method_of(name: str) -> str:
    """The method that something is kept of under this name."""
    return name.removeprefix(f"{KIND}/").split("-")[0]


def _kept_as(name: str, views: LearnedViews | None) -> str:
    return name if views is None else f"{name}-{views.version}"
