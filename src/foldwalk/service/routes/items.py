"""The items: list, look at, add, remove."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from foldwalk.core.seeds import generator
from foldwalk.service.answers import Changed, Item, Listing
from foldwalk.service.bodies import AddBody, Name, documented
from foldwalk.service.engine import Engine
from foldwalk.service.routes.access import TheEngine, failures, may_write

router = APIRouter(prefix="/api", tags=["items"])
_CHANGES = failures(400, 401, 403, 404, 409, 413, 415, 422, 429, 501, 507)
_Key = Annotated[Name, Query(description="key of an item")]


@router.get("/items", responses=failures(422, 429))
async def list_items(
    engine: TheEngine,
    contains: Annotated[str, Query(max_length=200, description="only keys with this in them")] = "",
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> Listing:
    """Keys in the order in which the items came."""
    return await engine.reads.run(_listing, engine, contains.casefold(), offset, limit)


def _listing(engine: Engine, contains: str, offset: int, limit: int) -> Listing:
    engine.index.refresh()
    keys = engine.index.keys()
    fitting = [key for key in keys if contains in key.casefold()]
    return Listing(total=len(fitting), keys=fitting[offset : offset + limit])


@router.get("/sample", responses=failures(422, 429))
async def sample_items(
    engine: TheEngine,
    count: Annotated[int, Query(ge=1, le=200)] = 24,
    seed: Annotated[int, Query(ge=0, lt=2**32, description="another seed gives another sample")] = 0,
) -> Listing:
    """Some keys at random; the same for the same seed."""
    return await engine.reads.run(_sample, engine, count, seed)


def _sample(engine: Engine, count: int, seed: int) -> Listing:
    engine.index.refresh()
    keys = engine.index.keys()
    rows = generator(seed, "sample").choice(len(keys), size=min(count, len(keys)), replace=False)
    return Listing(total=len(keys), keys=[keys[row] for row in rows])


@router.get("/item", responses=failures(404, 422, 429))
async def one_item(engine: TheEngine, key: _Key) -> Item:
    """An item with its metadata."""
    return Item.model_validate(await engine.reads.run(engine.index.item, engine.known(key)))


@router.get(
    "/thumbnail",
    response_class=Response,
    responses={
        200: {"content": {"image/jpeg": {"schema": {"type": "string", "format": "binary"}}}},
        204: {"description": "The item came without a picture."},
        **failures(404, 422, 429),
    },
)
async def thumbnail(engine: TheEngine, key: _Key) -> Response:
    """A small JPEG of the item."""
    content = await engine.reads.run(engine.index.thumbnail, engine.known(key))
    headers = {"Cache-Control": "private, max-age=300"}
    if content is None:
        return Response(status_code=204, headers=headers)
    return Response(content, media_type="image/jpeg", headers=headers)


@router.post(
    "/items",
    status_code=201,
    response_model=Changed,
    responses=_CHANGES,
    dependencies=[Depends(may_write)],
    openapi_extra=documented(AddBody, ("vector",)),
)
async def add_item(request: Request, engine: TheEngine) -> dict[str, Any]:
    """Add a picture or a vector under a key; what had that key is replaced."""
    report = await engine.add(await AddBody.read(request))
    return {**report.as_dict(), "items": len(engine.index), "version": engine.index.version}


@router.delete("/items", responses=_CHANGES, dependencies=[Depends(may_write)])
async def remove_items(
    engine: TheEngine, key: Annotated[list[Name], Query(min_length=1, max_length=1000)]
) -> Changed:
    """Remove items, all of those named or none."""
    removed = await engine.remove(list(dict.fromkeys(key)))
    return Changed(removed=removed, items=len(engine.index), version=engine.index.version)
