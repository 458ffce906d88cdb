"""Methods that have seen the collection: fitted when first asked for, kept in memory and on disk.

A file holds what fitting computed and no vectors or neighbours, which the index has already. Its name carries
the version of the vectors and a checksum of the parameters and of the program's version.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foldwalk import __version__, rerank
from foldwalk.core.errors import BadInput, TooFewNeighbors
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray
from foldwalk.core.vectors import Vectors
from foldwalk.index.catalog import State
from foldwalk.index.derived import load_arrays, save_arrays
from foldwalk.rerank.base import Reranker

if TYPE_CHECKING:
    from foldwalk.index.view import View

IN_MEMORY = 4
ON_DISK = 8
SAVED_FROM = 2_000  # items: below, fitting is quicker than reading


class FittedMethods:
    """The fitted methods of one version of the vectors."""

    def __init__(self, folder: Path, state: State) -> None:
        self.folder, self.state = folder, state
        self._methods: OrderedDict[str, Reranker] = OrderedDict()
        self._lock, self._fitting = threading.Lock(), threading.Lock()

    def get(self, method: str, parameters: Mapping[str, Any], view: View) -> Reranker:
        if len(view) == 0:
            raise BadInput(f"{view.catalog.folder} is empty; add something before searching.")
        unfitted = self._create(method, parameters)
        name = self._file_name(unfitted)
        known = self._remembered(name)
        if known is None:
            with self._fitting:  # one at a time: a second thread that wants the same waits and finds it
                known = self._remembered(name)
                if known is None:
                    known = self._fit(unfitted, name, view)
                    self._remember(name, known)
        return known

    def names(self) -> tuple[str, ...]:
        """What is fitted for this version, in memory or on disk."""
        with self._lock:
            files = set(self._methods) | {path.name for path in self._files()}
        return tuple(sorted({name.split("-")[0] for name in files}))

    def _create(self, method: str, parameters: Mapping[str, Any]) -> Reranker:
        metric = parameters.get("metric", self.state.metric)
        if metric != self.state.metric:
            raise BadInput(f"{method}: the index is by {self.state.metric}; leave out the parameter metric.")
        return rerank.create(method, **{**parameters, "metric": metric})

    def _file_name(self, method: Reranker) -> str:
        text = json.dumps(method.params.model_dump(), sort_keys=True)
        digest = blake2b(f"{__version__} {self.state.uid} {text}".encode(), digest_size=8).hexdigest()
        return f"{method.name}-{digest}-{self.state.vectors_version}.npz"

    def _remembered(self, name: str) -> Reranker | None:
        with self._lock:
            if name in self._methods:
                self._methods.move_to_end(name)
            return self._methods.get(name)

    def _remember(self, name: str, method: Reranker) -> None:
        with self._lock:
            self._methods[name] = method
            while len(self._methods) > IN_MEMORY:
                self._methods.popitem(last=False)

    def _fit(self, method: Reranker, name: str, view: View) -> Reranker:
        neighbors = view.graph().neighbors(self.state.metric)
        kept_on_disk = len(view) >= SAVED_FROM
        saved = load_arrays(self.folder / name) if kept_on_disk else None
        if saved is not None:
            with suppress(Exception):  # whole, but not what it should be: fit again
                return _adopt(method, view.prepared, neighbors, saved)
        fitted = _adopt(method, view.prepared, neighbors, None)
        if kept_on_disk:
            state = fitted.state()
            if state and save_arrays(self.folder / name, state):
                self._forget_oldest()
        return fitted

    def _files(self) -> list[Path]:
        return list(self.folder.glob(f"*-{self.state.vectors_version}.npz"))

    def _forget_oldest(self) -> None:
        """Files of other versions go, and the oldest of this one where there are many."""
        current = sorted(self._files(), key=lambda path: path.stat().st_mtime)
        stale = set(self.folder.glob("*-*-*.npz")) - set(current)
        for path in [*stale, *current[:-ON_DISK]]:
            path.unlink(missing_ok=True)


def _adopt(
    method: Reranker, vectors: Vectors, neighbors: Neighbors, state: dict[str, AnyArray] | None
) -> Reranker:
    try:
        return method.adopt(vectors, neighbors=neighbors, state=state)
    except TooFewNeighbors:  # more than the index keeps: the method finds them itself
        return method.adopt(vectors, state=state)
