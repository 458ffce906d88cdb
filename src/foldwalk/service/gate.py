"""Blocking work in threads: so many at once, so many waiting, and the next one is turned away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
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
