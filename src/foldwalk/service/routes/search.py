"""Searching: results, why they are there, and the map of the collection."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from foldwalk.core import BadInput
from foldwalk.service.answers import Explained, Found, Map
from foldwalk.service.bodies import ExplainBody, SearchBody, documented
from foldwalk.service.errors import without_paths
from foldwalk.service.routes.access import TheEngine, TheMap, TheMetrics, failures
from foldwalk.service.routes.freedom import ChoosesFreely

router = APIRouter(prefix="/api", tags=["search"])

_SUBJECTS = ("key", "text", "vector", "positives")
_CONDITIONS = 20
_FAILURES = failures(400, 404, 409, 413, 415, 422, 429, 501, 503)


@router.post(
    "/search", response_model=Found, responses=_FAILURES, openapi_extra=documented(SearchBody, _SUBJECTS)
)
async def search(
    request: Request, engine: TheEngine, metrics: TheMetrics, free: ChoosesFreely
) -> dict[str, Any]:
    """The nearest items by the method, beside those of plain search."""
    body = await SearchBody.read(request)
    if body.top > engine.settings.top:
        raise BadInput(f"top is {body.top}, but this service gives at most {engine.settings.top} results.")
    _refuse_long(body.where or {}, engine.settings.where_values)
    results, wanted, excuse = await engine.search(body, free)
    metrics.search(results.seconds)
    note = without_paths(excuse or results.note, engine.index.path)
    stand = {"wanted": wanted, "fitted": not excuse, "note": note}
    return {**vars(results), **stand, "version": engine.index.version}


def _refuse_long(where: dict[str, Any], most: int) -> None:
    """Every condition is looked at for every item."""
    values = [condition for condition in where.values() if isinstance(condition, list)]
    if len(where) > _CONDITIONS or sum(map(len, values)) > most:
        raise BadInput(f"where has room for {_CONDITIONS} conditions and {most} values in all.")


@router.post(
    "/explain",
    response_model=Explained,
    responses=_FAILURES,
    openapi_extra=documented(ExplainBody, _SUBJECTS),
)
async def explain(request: Request, engine: TheEngine, free: ChoosesFreely) -> dict[str, Any]:
    """The chain of items that leads from the query to a hit; waits until the method is fitted."""
    return vars(await engine.explain(await ExplainBody.read(request), free))


@router.get("/map", responses={202: {"model": Map, "description": "A drawing is under way; ask again."}})
async def collection_map(engine: TheEngine, atlas: TheMap, response: Response) -> Map:
    """The collection in the plane, before and after the walk; 202 while a (newer) drawing is under way."""
    await engine.reads.run(engine.index.refresh)
    drawn = await atlas.newest(engine.index.version)
    if drawn.state == "drawing":
        response.status_code = 202
        response.headers["Retry-After"] = "2"
    return drawn


@router.get(
    "/map/pictures",
    response_class=Response,
    responses={
        200: {"content": {"image/jpeg": {"schema": {"type": "string", "format": "binary"}}}},
        204: {"description": "There is no map yet, or its items have no pictures."},
    },
)
async def map_pictures(atlas: TheMap) -> Response:
    """Small pictures of the items on the map, laid out as its `sheet` says."""
    if not atlas.pictures:
        return Response(status_code=204)
    return Response(atlas.pictures, media_type="image/jpeg")
