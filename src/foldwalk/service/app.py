"""The application: routes, limits and the page put together around one index."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from foldwalk import __version__
from foldwalk.index import Index
from foldwalk.service.engine import Engine
from foldwalk.service.errors import handle_errors
from foldwalk.service.map_job import MapJob
from foldwalk.service.metrics import Metrics
from foldwalk.service.middleware import Shell
from foldwalk.service.routes import about, items, search
from foldwalk.service.settings import ServiceSettings
from foldwalk.service.spool import Spool
from foldwalk.service.visitors import KnownHosts, OwnPages, Readers
from foldwalk.stores.registry import PathLike

_WEB = Path(__file__).parent / "web"


def create_app(index: Index | PathLike, settings: ServiceSettings | None = None) -> FastAPI:
    """The service for one index, which it closes at its end."""
    settings = settings or ServiceSettings()
    opened = index if isinstance(index, Index) else Index.open(index)
    engine = Engine(opened, settings)
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        default = engine.menu.default
        atlas = MapJob(opened.store, default.method, settings.map_items, default.parameters)
        app.state.map = atlas
        engine.warming.begin()
        yield
        await atlas.close()
        await engine.close()

    app = FastAPI(
        title="foldwalk",
        version=__version__,
        description="Image search that ranks along the nearest-neighbour graph. Refusals are one sentence.",
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.state.engine, app.state.metrics = engine, metrics
    handle_errors(app)
    for routes in (search, items, about):
        app.include_router(routes.router)
    _add_pages(app)
    # The last one added is the outermost.
    app.add_middleware(Spool, settings=settings)
    app.add_middleware(Readers, tokens=settings.reading_tokens)
    app.add_middleware(OwnPages)
    app.add_middleware(KnownHosts, hosts=settings.hosts)
    app.add_middleware(Shell, metrics=metrics)
    return app


def _add_pages(app: FastAPI) -> None:
    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(_WEB / "index.html", headers={"Cache-Control": "no-cache"})

    @app.api_route("/docs", methods=["GET", "HEAD"], include_in_schema=False)
    async def docs() -> FileResponse:
        return FileResponse(_WEB / "docs.html", headers={"Cache-Control": "no-cache"})

    app.mount("/web", StaticFiles(directory=_WEB), name="web")
