"""Who is answered: requests for known host names, not from foreign pages, and with the token to read."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from urllib.parse import urlsplit

from fastapi.security.utils import get_authorization_scheme_param
from pydantic import SecretStr
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from foldwalk.service.errors import Foreign, Refusal, Unauthorised, WrongHost, refusal

# Pages and scripts, which say nothing of the collection, and whether the service lives.
_OPEN = frozenset({"/", "/docs", "/api/health"})
_PAGES = "/web/"


class _Check:
    """Asks before anything else is done, the body included. `check` raises a refusal."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                self.check(scope["path"], Headers(scope=scope))
            except Refusal as error:
                await refusal(error)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def check(self, path: str, headers: Headers) -> None:
        raise NotImplementedError


class KnownHosts(_Check):
    """Refuse requests for other names, so that no foreign page can reach the service by a name of its own."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        super().__init__(app)
        self.hosts = frozenset(host.lower() for host in hosts)

    def check(self, path: str, headers: Headers) -> None:  # noqa: ARG002
        if "*" not in self.hosts and _host_name(headers.get("host", "")) not in self.hosts:
            raise WrongHost("this service does not answer to that host name; start it with --allow-host.")


class OwnPages(_Check):
    """Refuse what a browser sends for a page from elsewhere. Programs do not send these headers."""

    def check(self, path: str, headers: Headers) -> None:
        if not _is_open(path) and _is_foreign(headers):
            raise Foreign("a page from elsewhere sent this; ask from the service's own page or a program.")


class Readers(_Check):
    """Refuse without one of the tokens; where there are none, everyone may read."""

    def __init__(self, app: ASGIApp, tokens: Iterable[SecretStr]) -> None:
        super().__init__(app)
        self.tokens = tuple(tokens)

    def check(self, path: str, headers: Headers) -> None:
        if not self.tokens or _is_open(path):
            return
        scheme, shown = get_authorization_scheme_param(headers.get("authorization"))
        fitting = [is_same(shown, token) for token in self.tokens]  # all of them, whichever fits
        if scheme.lower() != "bearer" or not any(fitting):
            raise Unauthorised("reading needs the header  Authorization: Bearer TOKEN  with the right token.")


def is_same(shown: str, token: SecretStr) -> bool:
    """The comparison takes as long whichever letter is wrong."""
    return secrets.compare_digest(shown.encode(), token.get_secret_value().encode())


def _is_open(path: str) -> bool:
    return path in _OPEN or path.startswith(_PAGES)


def _is_foreign(headers: Headers) -> bool:
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")  # none is the visitor's own doing, the address bar say
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower()


def _host_name(host: str) -> str:
    """The name without the port; an IPv6 address without its brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
