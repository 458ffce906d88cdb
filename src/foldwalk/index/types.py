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


@dataclass(frozen=True)
class Text:
    """Words that say what is looked for; the index's backbone has to know words, as CLIP models do."""

    words: str


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
    """The hits, best first. `plain` are the keys of plain search, as many; `seconds` says where time went.

    `note` is what the method did and why, in a sentence, where it had a choice.
    """

    hits: tuple[Hit, ...]
    method: str
    seconds: dict[str, float]
    plain: tuple[str, ...]
    note: str = ""

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
    """Why an item is where it is. `steps` is empty where no chain leads to it; `note` as in `Results`."""

    steps: tuple[Step, ...]
    rank: int
    plain_rank: int
    similarity: float
    sentence: str
    note: str = ""


@dataclass(frozen=True)
class Skipped(AsDict):
    """A file that was left out, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class Moved(AsDict):
    """A picture that was found under another path: the key it had and the one it has."""

    old: str
    new: str


@dataclass(frozen=True)
class AddReport(AsDict):
    """What a call that adds has done; `skipped` are files that could not be read, and why.

    `moved` kept their vectors and metadata. `vanished` are the keys of those whose files are gone from the
    folders that were named, of which `removed` were taken out. `roots` are these folders as they are noted,
    by the prefix of their keys; `notes` are sentences about what a reader should know.
    """

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    seconds: float = 0.0
    moved: list[Moved] = field(default_factory=list)
    vanished: list[str] = field(default_factory=list)
    removed: int = 0
    roots: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ModelState(AsDict):
    """A model that was trained on the collection when it had `items`; `came` and `went` count those since."""

    method: str
    items: int
    came: int
    went: int


@dataclass(frozen=True)
class ViewsState(AsDict):
    """Views that were learned together when the collection had `items`; `came` and `went` count those since.

    `due` says whether the next fit learns them again, which gives them another `version`; `sentence` says
    all of it.
    """

    names: tuple[str, ...]
    version: int
    items: int
    came: int
    went: int
    due: bool
    sentence: str


@dataclass(frozen=True)
class Preference(AsDict):
    """The method that searches use where none is named, as `tune` chose it, and why."""

    method: str
    parameters: dict[str, Any]
    reason: str


@dataclass(frozen=True)
class Info(AsDict):
    """`drift`: the share of the graph's rows that changed since it was last built from scratch.

    `notes` are what fitted methods say they do and why, by their names, where they have a choice.
    """

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
    views: tuple[ViewsState, ...] = ()
    notes: dict[str, str] = field(default_factory=dict)
    preferred: Preference | None = None


@dataclass(frozen=True)
class FileCheck(AsDict):
    """Keys of items whose files are missing, have another content, or cannot be read.

    `away` are folders that are not there as a whole: the files in them were not looked for.
    """

    missing: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    away: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not (self.missing or self.changed or self.unreadable or self.away)


@dataclass(frozen=True)
class Verification(AsDict):
    """`blocks` counts the runs of vectors whose checksums were compared, `bytes` what was read for it.

    `files` is there if it was asked for.
    """

    ok: bool
    items: int
    blocks: int
    problems: tuple[str, ...]
    bytes: int = 0
    bytes_per_second: float = 0.0
    files: FileCheck | None = None


@dataclass(frozen=True)
class Repair(AsDict):
    """What came of a repair: the keys of items that were `described` again from their files, of those that
    got a new thumbnail or lost it, and of those that were `dropped`.

    `left` are those that are still damaged, and why; `problems` is what a check still finds. `kept` is where
    the index as it was lies now, None where nothing was changed.
    """

    items: int
    described: list[str] = field(default_factory=list)
    thumbnails: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    left: list[Skipped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: tuple[str, ...] = ()
    kept: str | None = None


@dataclass(frozen=True)
class Backup(AsDict):
    """A copy that was checked: where it is, how many items it has and how many bytes were compared."""

    path: str
    items: int
    bytes: int
