"""Every refusal is JSON with one sentence, ``{"error": "..."}``, and a status that says whose fault it is."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, ClassVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from foldwalk.core import BadInput, FoldwalkError, MissingExtra
from foldwalk.index import CannotWrite, Damaged

_log = logging.getLogger("foldwalk.service")
# Two names deep at least: in quotes with whatever is in it, else after nothing that an address could end in,
# or as the folder of a network.
_ABSOLUTE = re.compile(
    r"""(?<=')/[^/']+/[^']+(?=')|(?:(?<![\w:/.-])|(?<=\bhf:))/[^\s/:;,'"()]+(?:/[^\s/:;,'"()]+)+"""
)


class Refusal(FoldwalkError):
    """The request cannot be served as it stands."""

    status: ClassVar[int] = 409
    headers: ClassVar[Mapping[str, str]] = {}


class Empty(Refusal):
    """There is nothing to search in."""


class Unauthorised(Refusal):
    status = 401
    headers: ClassVar[Mapping[str, str]] = {"WWW-Authenticate": "Bearer"}


class ReadOnly(Refusal):
    status = 403


class Foreign(Refusal):
    status = 403


class UnknownKey(Refusal):
    status = 404


class TooSlow(Refusal):
    status = 408


class TooLarge(Refusal):
    status = 413


class WrongType(Refusal):
    status = 415


class WrongHost(Refusal):
    status = 421


class Busy(Refusal):
    status = 429
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "1"}


class NotFittedHere(Refusal):
    """A method could not be fitted; `status` is that of what went wrong."""

    def __init__(self, sentence: str, status: int = 503) -> None:
        super().__init__(sentence)
        self.status = status  # type: ignore[misc]


# Of errors that are raised elsewhere; the first that fits counts.
_STATUSES = {Damaged: 500, BadInput: 422, MissingExtra: 501, CannotWrite: 507}


def handle_errors(app: FastAPI) -> None:
    app.add_exception_handler(FoldwalkError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RecursionError, _too_deep)


def status_of(error: Exception) -> int:
    if isinstance(error, Refusal):
        return error.status
    return next((code for kind, code in _STATUSES.items() if isinstance(error, kind)), Refusal.status)


def refusal(error: FoldwalkError, sentence: str = "") -> JSONResponse:
    headers = dict(error.headers) if isinstance(error, Refusal) else None
    return JSONResponse({"error": sentence or str(error)}, status_of(error), headers)


def without_paths(text: str, place: Path) -> str:
    """For visitors: of the index and of other files of the machine the names are left."""
    return _ABSOLUTE.sub(lambda path: PurePath(path.group()).name, _without_place(text, place))


def _without_place(text: str, place: Path) -> str:
    for folder in (place.absolute(), place):
        if len(folder.parts) > 1:
            text = text.replace(str(folder), place.name)
    return text


def sentence_of(errors: Sequence[Mapping[str, Any]]) -> str:
    """The first of pydantic's complaints as a sentence that names the field."""
    first = errors[0]
    place = ".".join(str(part) for part in first["loc"] if part not in ("body", "query"))
    return f"{place or 'the request'}: {str(first['msg'])[:1].lower()}{str(first['msg'])[1:]}."


async def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, FoldwalkError)
    # The service's own refusals name no files, but keys as the visitor wrote them.
    clean = _without_place if isinstance(error, Refusal) else without_paths
    sentence = clean(str(error), request.app.state.engine.index.path)
    if sentence != str(error):
        # Whoever runs the service may know where. The kind is part of the line that is not to be repeated.
        _log.warning(f"{type(error).__name__}: %s", error)
    return refusal(error, sentence)


async def _invalid(request: Request, error: Exception) -> JSONResponse:  # noqa: ARG001
    assert isinstance(error, RequestValidationError)
    return JSONResponse({"error": sentence_of(error.errors())}, 422)


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    words = {404: f"there is nothing at {request.url.path}.", 405: f"{request.method} is not possible here."}
    sentence = words.get(error.status_code, f"{str(error.detail).rstrip('.')}.")
    return JSONResponse({"error": sentence}, error.status_code, error.headers)


async def _too_deep(request: Request, error: Exception) -> JSONResponse:  # noqa: ARG001
    return JSONResponse({"error": "the request is nested too deep."}, 422)
