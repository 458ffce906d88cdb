"""What the index takes and gives: plain values, each with a dictionary form for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from foldwalk.core.as_dict import AsDict

# What a search may ask for ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Key:
    """An item of the index, by its key."""

    name: str


@dataclass(frozen=True, eq=False)
class Like:
    """Several examples at once: more like these, less like those. Each may be any single query."""

    positives: Sequence[Any]
    negatives: Sequence[Any] = ()


# What it answers --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hit(AsDict):
    """One answer. `rank` counts from one; `plain_rank` is its place in plain search under the same filter."""

    rank: int
    key: str
    score: float
    similarity: float
    plain_rank: int | None
    metadata: dict[str, Any]
    duplicates: tuple[str, ...] = ()


@dataclass(frozen=True)
class Results(AsDict):
    """The hits, best first. `plain` are the keys of plain search, as many; `seconds` says where time went."""

    hits: tuple[Hit, ...]
    method: str
    seconds: dict[str, float]
    plain: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.hits)


@dataclass(frozen=True)
class Step(AsDict):
    """One picture of a chain, with its similarity to the step before (None for the first).

    `key` is None for a query that is not in the index.
    """

    key: str | None
    similarity: float | None


@dataclass(frozen=True)
class Explanation(AsDict):
    """Why an item is where it is. `steps` is empty where no chain leads to it."""

    steps: tuple[Step, ...]
    rank: int
    plain_rank: int
    similarity: float
    sentence: str


@dataclass(frozen=True)
class Skipped(AsDict):
    """A file that was left out, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class AddReport(AsDict):
    """What a call that adds has done; `skipped` are files that could not be read, and why."""

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class ModelState(AsDict):
    """A model that was trained on the collection when it had `items`; `came` and `went` count those since."""

    method: str
    items: int
    came: int
    went: int


@dataclass(frozen=True)
class Info(AsDict):
    """`drift`: the share of the graph's rows that changed since it was last built from scratch."""

    items: int
    dim: int | None
    metric: str
    backbone: str | None
    version: int
    bytes: int
    drift: float
    recall: float
    rebuild_advised: bool
    reason: str
    methods_fitted: tuple[str, ...]
    models: tuple[ModelState, ...] = ()


@dataclass(frozen=True)
class Verification(AsDict):
    """`blocks` counts the runs of vectors whose checksums were compared, `bytes` what was read for it."""

    ok: bool
    items: int
    blocks: int
    problems: tuple[str, ...]
    bytes: int = 0
    bytes_per_second: float = 0.0


@dataclass(frozen=True)
class Backup(AsDict):
    """A copy that was checked: where it is, how many items it has and how many bytes were compared."""

    path: str
    items: int
    bytes: int
