"""Connections that cost little: so many at once, and a deadline for whatever the client has to do."""

from __future__ import annotations

import asyncio
import logging
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from foldwalk.service.settings import ServiceSettings

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]

_log = logging.getLogger("foldwalk.service")
# Files that are open beside connections and uploads: the index, libraries, the log.
_OTHER_FILES, _FEWEST = 128, 8


def connection_class(settings: ServiceSettings) -> type[H11Protocol]:
    """The protocol for uvicorn; those of one service know of each other."""
    return type(
        "Connection",
        (_Connection,),
        {"most": _fitting(settings), "settings": settings, "waiting": {}},
    )


def _fitting(settings: ServiceSettings) -> int:
    """As many connections as were set, or fewer where the system allows fewer open files."""
    if resource is None:
        return settings.connections
    beside = settings.uploads + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = settings.connections + beside
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        if soft < wanted:
            fewer = max(_FEWEST, soft - beside)
            _log.warning("the system allows %d open files: at most %d connections are taken.", soft, fewer)
            return fewer
    return settings.connections


class _Connection(H11Protocol):
    """uvicorn's connection. One that waits for a request gives way when there are too many."""

    most: ClassVar[int]
    settings: ClassVar[ServiceSettings]
    waiting: ClassVar[dict[_Connection, None]]  # in no request, in the order of their coming
    _request_due: asyncio.TimerHandle | None = None
    _reading_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_request()
        if len(self.connections) > self.most:
            next(iter(self.waiting))._cut()

    def data_received(self, data: bytes) -> None:
        if self._is_waiting() and self._request_due is None:
            self._expect_request()
        super().data_received(data)
        if not self._is_waiting():
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()  # which closes it after a while without a byte
        if self._is_waiting() and not self.transport.is_closing():
            self.waiting[self] = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading_due = self.loop.call_later(self.settings.send_seconds, self._cut)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._reading_due)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_waiting()
        _cancel(self._reading_due)

    def _is_waiting(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _expect_request(self) -> None:
        self.waiting[self] = None
        self._request_due = self.loop.call_later(self.settings.header_seconds, self._cut)

    def _stop_waiting(self) -> None:
        self.waiting.pop(self, None)
        _cancel(self._request_due)
        self._request_due = None

    def _cut(self) -> None:
        self._stop_waiting()
        self.transport.abort()  # closing would wait for a client that does not read


def _cancel(due: asyncio.TimerHandle | None) -> None:
    if due is not None:
        due.cancel()
