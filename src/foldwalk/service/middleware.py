"""What surrounds every request: known hosts, limits on the body, safe headers, figures, and a last resort."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from foldwalk.service.errors import TooLarge
from foldwalk.service.metrics import Metrics

_log = logging.getLogger("foldwalk.service")

# Scripts and styles come from the service alone; blob: is the visitor's own picture, shown before it is sent.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


class Shell:
    """The outermost layer: whatever happens inside, a response with safe headers is sent and counted."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 0

        async def send_safely(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        with self.metrics.in_flight.track_inprogress():
            try:
                await self.app(scope, receive, send_safely)
            except Exception:
                _log.exception("%s %s failed", scope["method"], scope["path"])
                if not status:
                    fault = {"error": "the service failed at this request; its log says why."}
                    await JSONResponse(fault, 500)(scope, receive, send_safely)
        route = getattr(scope.get("route"), "path", "other")
        self.metrics.request(scope["method"], route, status, time.perf_counter() - began)


class KnownHosts:
    """Refuse requests for other names, so that no foreign page can reach the service by a name of its own."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self.app = app
        self.hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and "*" not in self.hosts:
            name = _host_name(Headers(scope=scope).get("host", ""))
            if name not in self.hosts:
                refusal = {
                    "error": "this service does not answer to that host name; start it with --allow-host."
                }
                await JSONResponse(refusal, 421)(scope, receive, send)
                return
        await self.app(scope, receive, send)


def _host_name(host: str) -> str:
    """The name without the port; an IPv6 address without its brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


class BodyLimit:
    """Refuse a body by its announced length, or as soon as more has come in than is allowed."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self.app = app
        self.most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sentence = f"the request is larger than the {self.most / 1e6:g} MB that are allowed."
        announced = Headers(scope=scope).get("content-length", "0")
        if announced.isdecimal() and int(announced) > self.most:
            await JSONResponse({"error": sentence}, 413)(scope, receive, send)
            return
        received = 0

        async def receive_limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.most:
                raise TooLarge(sentence)
            return message

        await self.app(scope, receive_limited, send)
