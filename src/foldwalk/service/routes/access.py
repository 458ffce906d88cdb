"""What routes need: the parts of the application, and the right to change something."""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from foldwalk.service.answers import Failure
from foldwalk.service.engine import Engine
from foldwalk.service.errors import ReadOnly, Unauthorised
from foldwalk.service.map_job import MapJob
from foldwalk.service.metrics import Metrics
from foldwalk.service.visitors import is_same

_bearer = HTTPBearer(auto_error=False, description="the token that the service was started with")


def _engine(request: Request) -> Engine:
    return cast(Engine, request.app.state.engine)


def _metrics(request: Request) -> Metrics:
    return cast(Metrics, request.app.state.metrics)


def _map(request: Request) -> MapJob:
    return cast(MapJob, request.app.state.map)


TheEngine = Annotated[Engine, Depends(_engine)]
TheMetrics = Annotated[Metrics, Depends(_metrics)]
TheMap = Annotated[MapJob, Depends(_map)]


def may_write(
    engine: TheEngine, shown: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> None:
    """Refuse without the token."""
    token = engine.settings.token
    if token is None:
        raise ReadOnly("this service is read-only; start it with --writes to allow changes.")
    if shown is None or not is_same(shown.credentials, token):
        raise Unauthorised("a change needs the header  Authorization: Bearer TOKEN  with the right token.")


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For the OpenAPI description: these statuses, and 500 for a damaged index, come with one sentence."""
    return {status: {"model": Failure} for status in (*statuses, 500)}
