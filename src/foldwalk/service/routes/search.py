"""Searching: results, why they are there, and the map of the collection."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from foldwalk.core import BadInput
from foldwalk.service.answers import Explained, Found, Map
from foldwalk.service.bodies import ExplainBody, SearchBody, documented
from foldwalk.service.routes.access import TheEngine, TheMap, TheMetrics, failures

router = APIRouter(prefix="/api", tags=["search"])

_SUBJECTS = ("key", "vector", "positives")
_FAILURES = failures(400, 404, 409, 413, 415, 422, 429, 501)


@router.post(
    "/search", response_model=Found, responses=_FAILURES, openapi_extra=documented(SearchBody, _SUBJECTS)
)
async def search(request: Request, engine: TheEngine, metrics: TheMetrics) -> dict[str, Any]:
    """The nearest items by the method, beside those of plain search."""
    body = await SearchBody.read(request)
    if body.top > engine.settings.top:
        raise BadInput(f"top is {body.top}, but this service gives at most {engine.settings.top} results.")
    results = await engine.search(body)
    metrics.search(results.seconds)
    return {**vars(results), "version": engine.index.version}


@router.post(
    "/explain",
    response_model=Explained,
    responses=_FAILURES,
    openapi_extra=documented(ExplainBody, _SUBJECTS),
)
async def explain(request: Request, engine: TheEngine) -> dict[str, Any]:
    """The chain of items that leads from the query to a hit."""
    return vars(await engine.explain(await ExplainBody.read(request)))


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
