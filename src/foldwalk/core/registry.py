"""Things by name: each registers itself, and a file dropped into the right folder is found."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from foldwalk.core.errors import UnknownName

Entry = TypeVar("Entry")


class Registry(Generic[Entry]):
    """Entries with a `name`, found by importing the modules of `packages` when someone first asks.

    `kind` is what one entry is called in messages. A package whose __init__.py registers counts as well.
    """

    def __init__(self, kind: str, packages: Iterable[str]) -> None:
        self.kind, self.packages = kind, tuple(packages)
        self._entries: dict[str, Entry] = {}
        self._looked = False

    def register(self, entry: Entry) -> Entry:
        """Make an entry known by its name; a decorator for classes."""
        name, home = _name(entry), _home(entry)
        known = self._entries.get(name)
        if known is not None and _home(known) != home:
            raise ValueError(f"two {self.kind}s are called {name}: {_home(known)}, {home}")
        self._entries[name] = entry
        return entry

    def entries(self) -> dict[str, Entry]:
        """All of them, by name."""
        if not self._looked:
            self._looked = True
            for package in map(importlib.import_module, self.packages):
                for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
                    importlib.import_module(module.name)
        return dict(sorted(self._entries.items()))

    @contextmanager
    def trial(self, *free: str) -> Iterator[None]:
        """Entries may be tried out: the names `free` are not taken, and after the block all is as before."""
        before = self.entries()
        self._entries = {name: entry for name, entry in before.items() if name not in free}
        try:
            yield
        finally:
            self._entries = before

    def names(self) -> list[str]:
        return list(self.entries())

    def get(self, name: str) -> Entry:
        entries = self.entries()
        if name not in entries:
            near = difflib.get_close_matches(str(name), entries, n=3, cutoff=0.4)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(entries)}."
            raise UnknownName(f"there is no {self.kind} {name!r}; {hint}")
        return entries[name]


def _name(entry: Any) -> str:
    return str(entry.name)


def _home(entry: Any) -> str:
    """The module an entry was written in."""
    return str(entry.__module__ if isinstance(entry, type) else type(entry).__module__)
