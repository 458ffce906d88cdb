"""The service itself: what it serves, how it is, what it measures."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from fastapi import APIRouter, Response

from foldwalk.service.answers import About, Health, OfferedMethod, Words
from foldwalk.service.engine import Engine
from foldwalk.service.errors import without_paths
from foldwalk.service.routes.access import TheEngine, TheMetrics, failures
from foldwalk.service.routes.freedom import ChoosesFreely

router = APIRouter(tags=["service"])


@router.get("/api/info", response_model=About, responses=failures(429))
async def info(engine: TheEngine) -> dict[str, Any]:
    """The index and what this service allows."""
    return await engine.reads.run(_about, engine)


def _about(engine: Engine) -> dict[str, Any]:
    index, settings = engine.index, engine.settings
    known = index.info().as_dict()
    first = next(iter(engine.keys.all()), None)
    return {
        **known,
        "name": index.path.stem,
        "backbone": known["backbone"] and _shown(known["backbone"]),
        "method": engine.menu.default.method,
        "parameters": engine.menu.default.parameters,
        "writes": settings.writes,
        "thumbnails": first is not None and index.thumbnail(first) is not None,
        "limits": settings.model_dump(),
    }


def _shown(backbone: str) -> str:
    """The name of a backbone; of files and folders, which others have no business with, their last part."""
    parts = backbone.split(":")
    return ":".join(PurePath(part).name if PurePath(part).is_absolute() else part for part in parts)


@router.get("/api/words", responses=failures(429))
async def words(engine: TheEngine) -> Words:
    """Whether the collection can be searched by words, and why where it cannot; may load its backbone."""
    why = await engine.reads.run(engine.without_words)
    return Words(known=not why, note=without_paths(why, engine.index.path))


@router.get("/api/methods")
async def list_methods(engine: TheEngine, free: ChoosesFreely) -> list[OfferedMethod]:
    """The methods on offer and their presets; parameters and ranges for those who may choose freely."""
    return engine.menu.cards(free)


@router.get("/api/health")
async def health(engine: TheEngine) -> Health:
    """Whether it answers, and whether the default method is ready."""
    return Health(
        status="ok" if engine.warming.done else "warming",
        fitted=engine.warming.fitted,
        version=engine.index.version,
    )


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(engine: TheEngine, figures: TheMetrics) -> Response:
    """Figures in Prometheus' text format."""
    text = figures.text(len(engine.index), engine.index.version)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
