"""The service's end of the process that fits: started when needed, ended when idle or too greedy."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from foldwalk.service.errors import NotFittedHere

IDLE_SECONDS = 60.0  # then the process ends, with what it holds in memory


@dataclass(frozen=True)
class Fitted:
    """For which version, where what the store does not keep was written, and how long preparing takes."""

    version: int
    file: Path | None
    preparing: float


class FitWorker:
    """One process at a time, for one fit at a time."""

    command: tuple[str, ...] = ("-m", "foldwalk.service.fit_process")

    def __init__(self, url: str, seconds: int, memory: int) -> None:
        self._about: dict[str, Any] = {"url": url, "seconds": seconds, "memory": memory}
        self._process: Process | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._folder: TemporaryDirectory[str] | None = None

    async def fit(self, method: str, parameters: Mapping[str, Any]) -> Fitted:
        """Have a method fitted for the newest version; a limit that is broken is NotFittedHere."""
        self._folder = self._folder or TemporaryDirectory(prefix="foldwalk-fit-")  # that nobody else reads
        file = Path(self._folder.name) / "fitted.npz"
        asked = {"method": method, "parameters": parameters, "file": str(file)}
        if self._idle is not None:
            self._idle.cancel()
        try:
            said = await self._ask(asked)
        except BaseException:
            await self._end()
            raise
        if said is None or "limit" in said:
            code = await self._end()
            raise NotFittedHere(self._broken_limit(method, None if said else code))
        self._idle = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._let_go)
        if "error" in said:
            if said.get("ends"):
                await self._end()
            raise NotFittedHere(said["error"], said["status"])
        return Fitted(said["version"], file if said["file"] else None, said["preparing"])

    async def _ask(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        """The answer; None where the process ended instead."""
        if self._process is not None and self._process.stdin.is_closing():  # type: ignore[union-attr]
            await self._end()
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, *self.command, stdin=PIPE, stdout=PIPE
            )
            self._tell(self._about)
        self._tell(asked)
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        said: dict[str, Any] | None = json.loads(line) if line else None
        return said

    def _tell(self, words: dict[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(words).encode() + b"\n")

    def _broken_limit(self, method: str, code: int | None) -> str:
        if code == -signal.SIGALRM:
            limit, option = f"{self._about['seconds']} seconds", "--fit-seconds"
        elif code is None:
            limit, option = f"{self._about['memory'] // 1_000_000} MB", "--fit-memory-mb"
        else:
            return f"{method} could not be fitted: its process ended ({code}); choose another method."
        return (
            f"{method} needs more than the {limit} that a fit may take here; choose another method, or start "
            f"the service with a larger {option}."
        )

    def _let_go(self) -> None:
        """Without more input the process ends by itself."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    async def _end(self) -> int | None:
        """How the process ended; one that is still at work is killed."""
        process, self._process = self._process, None
        if process is None:
            return None
        if process.stdin is not None:
            process.stdin.close()
        if process.stdout is not None and not process.stdout.at_eof():
            with suppress(ProcessLookupError):
                process.kill()
        return await process.wait()

    async def close(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        await self._end()
        if self._folder is not None:
            self._folder.cleanup()
