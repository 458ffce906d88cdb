"""What surrounds every request: safe headers, figures, and a last resort."""

from __future__ import annotations

import logging
import time

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
    "vary": "Authorization",  # what a browser keeps is shown to no one without the token
}
# The status that figures give to a client that did not wait for its answer.
_HUNG_UP = 499


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
            except ClientDisconnect:
                pass  # no one is left to be answered
            except Exception:
                _log.exception("%s %r failed", scope["method"], scope["path"])
                if not status:
                    fault = {"error": "the service failed at this request; its log says why."}
                    await JSONResponse(fault, 500)(scope, receive, send_safely)
        route = getattr(scope.get("route"), "path", "other")
        self.metrics.request(scope["method"], route, status or _HUNG_UP, time.perf_counter() - began)
