"""The keys of the newest version, in one list that all requests share."""

from __future__ import annotations

import threading

from foldwalk.index import Index
from foldwalk.service.answers import Listing


class KeyList:
    """A million keys are copied and folded once for a version, not once for a request."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._lock = threading.Lock()
        self._version = -1
        self._keys: list[str] = []
        self._folded: list[str] | None = None

    def all(self) -> list[str]:
        """The keys in the order in which the items came; to be read only."""
        self._index.refresh()
        with self._lock:
            version = self._index.version
            if version != self._version:
                self._keys, self._folded, self._version = self._index.keys(), None, version
            return self._keys

    def listing(self, contains: str, offset: int, limit: int) -> Listing:
        """Some of the keys that have the text in them, large and small letters alike."""
        keys = self.all()
        if not contains:
            return Listing(total=len(keys), keys=keys[offset : offset + limit])
        wanted = contains.casefold()
        rows = [row for row, text in enumerate(self._as_sought(keys)) if wanted in text]
        return Listing(total=len(rows), keys=[keys[row] for row in rows[offset : offset + limit]])

    def _as_sought(self, keys: list[str]) -> list[str]:
        with self._lock:
            if keys is not self._keys:  # a newer version came meanwhile
                return [key.casefold() for key in keys]
            if self._folded is None:
                self._folded = [key.casefold() for key in keys]
            return self._folded
