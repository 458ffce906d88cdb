"""Bodies on their way in: limited in size, number and time, and gone from the disk when answered."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from foldwalk.service.errors import Busy, TooLarge, TooSlow, refusal
from foldwalk.service.settings import ServiceSettings

# A form has a few lines around the file, and a field or two beside it.
FORM = 100_000
# Where a body finds what closes its files after the answer.
SPOOLED = "foldwalk.spooled"


class Spool:
    """Lets bodies in. What they hold counts until their request is answered."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings) -> None:
        self.app = app
        self.settings = settings
        self.bodies = self.bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        most = self._most(headers)
        announced = headers.get("content-length", "0")
        if announced.isdecimal() and int(announced) > most:
            await refusal(_too_large(most))(scope, receive, send)
        elif (has_body := _has_body(headers)) and self.bodies >= self.settings.uploads:
            await refusal(_full())(scope, receive, send)
        else:
            async with AsyncExitStack() as scope[SPOOLED]:
                self.bodies += has_body
                try:
                    await self._let_in(scope, receive, send, most)
                finally:
                    self.bodies -= has_body

    def _most(self, headers: Headers) -> int:
        form = self.settings.upload_bytes + FORM
        is_form = headers.get("content-type", "").lower().startswith("multipart/form-data")
        return form if is_form else min(self.settings.json_bytes, form)

    async def _let_in(self, scope: Scope, receive: Receive, send: Send, most: int) -> None:
        received = 0
        until = asyncio.get_running_loop().time() + self.settings.body_seconds
        is_whole = False

        async def receive_limited() -> Message:
            nonlocal received, is_whole
            if is_whole:  # what is waited for now is the client's hanging up
                return await receive()
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                raise TooSlow(
                    f"the request did not come in within {self.settings.body_seconds:g} seconds."
                ) from None
            size = len(message.get("body", b""))
            received += size
            self.bytes += size
            is_whole = not message.get("more_body", False)
            if received > most:
                raise _too_large(most)
            if self.bytes > self.settings.spool_bytes:
                raise _full()
            return message

        try:
            await self.app(scope, receive_limited, send)
        finally:
            self.bytes -= received


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _too_large(most: int) -> TooLarge:
    return TooLarge(f"the request is larger than the {most / 1e6:g} MB that are allowed.")


def _full() -> Busy:
    return Busy("the service is busy with other uploads; try again in a moment.")
