"""Methods made ready: read where they are kept, else fitted in a process of their own, one after the other.

One piece of work for each choice and version: whoever else wants the same waits for it. What failed is
remembered for that version, and not tried again. A search whose method is ready never comes here.
"""

from __future__ import annotations

import asyncio
import logging

from foldwalk.core import FoldwalkError
from foldwalk.index import Index
from foldwalk.index.asking.handed import Handed
from foldwalk.rerank import describe
from foldwalk.service.errors import Busy, NotFittedHere, status_of
from foldwalk.service.fit_worker import Fitted, FitWorker
from foldwalk.service.gate import Gate, Turns
from foldwalk.service.methods import Choice
from foldwalk.service.settings import ServiceSettings

HERE_BELOW = 1_000  # items: what everyone may choose is then fitted sooner than a process is asked
_log = logging.getLogger("foldwalk.service")
_Name = tuple[int, str]


class Fits:
    """Fits for one index."""

    def __init__(self, index: Index, settings: ServiceSettings) -> None:
        self._index, self._settings = index, settings
        self._worker = FitWorker(index.store.url, settings.fit_seconds, settings.fit_memory)
        self._reading = Gate("load", 1, 1_000)
        self._turns = Turns()
        self._under_way: dict[_Name, asyncio.Task[None]] = {}
        self._failed: dict[_Name, tuple[str, int]] = {}

    async def make_ready(self, choice: Choice, first: bool = False) -> None:
        """Wait until a choice is in memory, for the version that the index shows now."""
        await asyncio.shield(self.begin(choice, first))

    def begin(self, choice: Choice, first: bool = False) -> asyncio.Task[None]:
        """See to it that a choice is made ready; `first` goes before all others and is never turned away."""
        name = (self._index.version, choice.name)
        if name in self._failed:
            raise NotFittedHere(*self._failed[name])
        if name not in self._under_way:
            if len(self._under_way) > self._settings.fits_waiting and not first:
                raise Busy(
                    "too many methods wait to be fitted; try again later, or choose one that is ready."
                )
            self._under_way[name] = task = asyncio.create_task(self._make_ready(name, choice, first))
            task.add_done_callback(lambda done: self._ended(name, done))
        return self._under_way[name]

    def _ended(self, name: _Name, done: asyncio.Task[None]) -> None:
        del self._under_way[name]
        error = None if done.cancelled() else done.exception()
        if isinstance(error, FoldwalkError):
            self._failed = {known: said for known, said in self._failed.items() if known[0] == name[0]}
            self._failed[name] = (str(error), status_of(error))
        elif error is not None:
            _log.error("fitting failed", exc_info=error)

    async def _make_ready(self, name: _Name, choice: Choice, first: bool) -> None:
        if await self._reading.run(self._index.load_fitted, choice.method, choice.parameters):
            return
        if self._is_quick(choice):
            await self._reading.run(self._index.fitted, choice.method, choice.parameters)
            return
        async with self._turns.turn(first):
            if self._index.version == name[0]:  # else whoever waits asks again
                fitted = await self._worker.fit(choice.method, choice.parameters)
                await self._reading.run(self._take, choice, fitted)

    def _is_quick(self, choice: Choice) -> bool:
        trains = describe(choice.method).needs_training
        return choice.offered and not trains and len(self._index) < HERE_BELOW

    def _take(self, choice: Choice, fitted: Fitted) -> None:
        """Read what was fitted; where the index has changed meanwhile, whoever waits asks again."""
        if fitted.preparing > self._settings.prepare_seconds:
            raise NotFittedHere(
                f"{choice.method} takes {fitted.preparing:.1f} seconds of computing to prepare for this "
                f"collection and keeps nothing of it: choose another method."
            )
        self._index.refresh()
        if fitted.version != self._index.version:
            return
        handed = None
        if fitted.file is not None:
            handed = Handed.read(fitted.file, len(self._index), self._index.metric)
        if not self._index.load_fitted(choice.method, choice.parameters, handed):
            raise NotFittedHere(f"{choice.method} was fitted, but what was kept of it cannot be read.")

    async def close(self) -> None:
        """End what is under way."""
        for task in (under_way := list(self._under_way.values())):
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        await self._worker.close()
        await asyncio.to_thread(self._reading.close)
