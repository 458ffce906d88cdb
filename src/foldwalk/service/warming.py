"""The default method made ready before anyone asks for it: at the start, and after each change."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

from foldwalk.core import FoldwalkError
from foldwalk.index import Damaged, Index, Key
from foldwalk.service.errors import status_of
from foldwalk.service.fits import Fits
from foldwalk.service.gate import Gate
from foldwalk.service.methods import PLAIN, Choice

_log = logging.getLogger("foldwalk.service")
_ROWS = 65_536


class Warming:
    """Fits the default in the background and rehearses, so that everything is loaded and compiled.

    `damage` is what was found at the start and leaves nothing to serve; `when_damaged` is called then.
    """

    def __init__(self, index: Index, fits: Fits, default: Choice) -> None:
        self._index, self._fits, self._default = index, fits, default
        self._gate = Gate("rehearsal", 1, 0)
        self._task: asyncio.Task[None] | None = None
        self._rehearsed = -1  # the version for which the default was made ready, or could not be
        self.fitted = False  # whether it was
        self.damage: FoldwalkError | None = None
        self.when_damaged: Callable[[], object] = lambda: None

    @property
    def done(self) -> bool:
        return self._task is None or self._task.done()

    def begin(self) -> None:
        """Unless it is under way, or was done for the version that the index shows."""
        if self.done and self._rehearsed != self._index.version:
            self._task = asyncio.create_task(self._warm_up())

    async def _warm_up(self) -> None:
        while self._rehearsed != (version := self._index.version) and len(self._index):
            self.fitted = False
            try:
                await self._gate.run(self._rehearse, PLAIN)
                await self._fits.make_ready(self._default, first=True)
                await self._gate.run(self._rehearse, self._default)
                self._rehearsed, self.fitted = version, True  # what changed meanwhile has its turn next
            except Exception as error:
                if self._index.version == version:  # else the item was removed meanwhile: with another
                    self._give_up(error)
                    self._rehearsed = version

    def _give_up(self, error: Exception) -> None:
        if not isinstance(error, FoldwalkError):
            _log.error("warm-up failed", exc_info=error)
        elif self._rehearsed == -1 and status_of(error) == status_of(Damaged()):
            self.damage = error
            self.when_damaged()
        else:
            _log.warning("warm-up: %s", error)

    def _rehearse(self, choice: Choice) -> None:
        if self._rehearsed == -1 and choice == PLAIN:
            self._refuse_broken_vectors()
        key = self._index.keys()[0]
        queries: list[Any] = [Key(key), self._index.vector(key)]
        if self._index.store.facts().backbone is not None:
            queries.append(Image.new("RGB", (64, 64)))
        for query in queries:
            self._index.search(query, 1, choice.method, choice.parameters, fit=choice == PLAIN)

    def _refuse_broken_vectors(self) -> None:
        """A method may not come to an end with numbers that are none."""
        vectors = self._index.vectors()
        for start in range(0, len(vectors), _ROWS):
            if not np.isfinite(vectors[start : start + _ROWS]).all():
                place = self._index.store.place
                raise Damaged(f"{place} holds vectors that are no numbers; run foldwalk verify.")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.to_thread(self._gate.close)
