"""What the service answers, as the OpenAPI description shows it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class Failure(Answer):
    error: str


class Health(Answer):
    """`warming` while the default method is being made ready; `fitted` says whether it is."""

    status: Literal["ok", "warming"]
    fitted: bool
    version: int


class Limits(Answer):
    upload_bytes: int
    pixels: int
    top: int


class About(Answer):
    """The index, what this service allows, and whether its items have thumbnails.

    `method` and `parameters` are what ranks when a request names no method.
    """

    name: str
    items: int
    dim: int | None
    metric: str
    backbone: str | None
    version: int
    bytes: int
    drift: float
    rebuild_advised: bool
    reason: str
    method: str
    parameters: dict[str, Any]
    writes: bool
    thumbnails: bool
    limits: Limits


class Words(Answer):
    """Whether the collection can be searched by words; `note` says why where it cannot."""

    known: bool
    note: str


class Parameter(Answer):
    name: str
    type: str
    default: Any
    low: float | None
    high: float | None
    choices: list[Any]
    text: str
    neighborhood: bool
    range: str


class OfferedPreset(Answer):
    name: str
    text: str


class OfferedMethod(Answer):
    """`presets` are values of the parameter `preset`; `parameters` are those that may be chosen freely."""

    name: str
    family: str
    summary: str
    paper: str
    needs_training: bool
    presets: list[OfferedPreset]
    parameters: list[Parameter]


class Hit(Answer):
    """`plain_rank` is its place in plain search, null beyond what was looked at."""

    rank: int
    key: str
    score: float
    similarity: float
    plain_rank: int | None
    metadata: dict[str, Any]
    duplicates: list[str]


class Found(Answer):
    """The hits, best first; `plain` are the keys of plain search, as many.

    `note` is what the method did and why, in a sentence, where it had a choice. Where the method that was
    wanted is not fitted yet, `fitted` is false, the hits are those of plain search (`method`), and it says
    why.
    """

    hits: list[Hit]
    plain: list[str]
    method: str
    wanted: str
    fitted: bool
    note: str
    seconds: dict[str, float]
    version: int


class Step(Answer):
    """`similarity` is to the step before; `key` is null for a query that is not in the index."""

    key: str | None
    similarity: float | None


class Explained(Answer):
    steps: list[Step]
    rank: int
    plain_rank: int
    similarity: float
    sentence: str
    note: str


class Item(Answer):
    key: str
    metadata: dict[str, Any]
    added: str


class Listing(Answer):
    """`total` counts every key that fits, of which `keys` are some."""

    total: int
    keys: list[str]


class Changed(Answer):
    """What a change did; `version` is the index's afterwards."""

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    removed: int = 0
    items: int
    version: int


class Sheet(Answer):
    """Small pictures of a map's items in one JPEG, row by row: how many in a row, and the side of each."""

    columns: int
    side: int


class Map(Answer):
    """Two drawings of the same items in the plane: by plain similarity, and by the method's.

    `version` is that of the index when it was drawn; a newer drawing may be on its way (`state`). `sheet`
    says how /api/map/pictures is laid out, null where the items have no pictures.
    """

    state: Literal["ready", "drawing", "failed"]
    error: str = ""
    method: str = ""
    version: int = 0
    total: int = 0
    keys: list[str] = []
    before: list[tuple[float, float]] = []
    after: list[tuple[float, float]] = []
    sheet: Sheet | None = None
