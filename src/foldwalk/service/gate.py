"""Who may work now: so many threads at once, so many waiting, the next one turned away; or one by one."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from typing import ParamSpec, TypeVar

from foldwalk.service.errors import Busy

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class Gate:
    """A bounded thread pool. `busy` counts what runs and what waits."""

    def __init__(self, name: str, at_once: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix=f"foldwalk-{name}")
        self._room = at_once + waiting
        self.busy = 0

    async def run(
        self, work: Callable[Arguments, Answer], *args: Arguments.args, **options: Arguments.kwargs
    ) -> Answer:
        if self.busy >= self._room:
            raise Busy("the service is busy with other requests; try again in a moment.")
        self.busy += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._pool, partial(work, *args, **options)
            )
        finally:
            self.busy -= 1

    def close(self) -> None:
        """Wait for what runs; what has not begun is dropped."""
        self._pool.shutdown(wait=True, cancel_futures=True)


class Turns:
    """One at a time, in the order in which they came; who is `first` goes before all that wait."""

    def __init__(self) -> None:
        self._taken = False
        self._line: list[tuple[bool, int, asyncio.Future[None]]] = []
        self._numbers = count()

    @asynccontextmanager
    async def turn(self, first: bool = False) -> AsyncIterator[None]:
        if self._taken:
            place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heapq.heappush(self._line, (not first, next(self._numbers), place))
            try:
                await place  # whoever is done leaves the turn to the next
            except asyncio.CancelledError:
                if place.done() and not place.cancelled():  # it was left to us already
                    self._pass_on()
                raise
        self._taken = True
        try:
            yield
        finally:
            self._pass_on()

    def _pass_on(self) -> None:
        while self._line:
            *_, place = heapq.heappop(self._line)
            if not place.done():  # else nobody waits there any more
                place.set_result(None)
                return
        self._taken = False
