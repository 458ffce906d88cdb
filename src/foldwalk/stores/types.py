"""What stores take and give: plain values."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from foldwalk.core.as_dict import AsDict
from foldwalk.core.types import BoolArray, Float32Array, IntArray


@dataclass(frozen=True)
class StoreCard:
    """What `describe` tells of a store. `extra` is what has to be installed for it, None for nothing."""

    name: str
    schemes: tuple[str, ...]
    summary: str
    extra: str | None


@dataclass(frozen=True)
class Facts:
    """What a store knows of itself, in one version.

    `dim` is None while it is empty. `backbone` is the name of what describes pictures, `identity` says which
    weights, preprocessing and pooling described those that are there. `format` is the number of the form in
    which it is kept, `uid` tells it from any other. `version` grows with each change; `vectors_version` is
    the version at which vectors last changed. `next_number` is what the next new item gets.
    """

    metric: str
    dim: int | None
    backbone: str | None
    identity: str | None
    format: int
    uid: str
    version: int
    vectors_version: int
    next_number: int


@dataclass(frozen=True)
class Record:
    """What is noted of an item beside its vector; metadata of None keeps what is there.

    `metadata` is JSON in the one form of `checks.metadata_text`; `source`, `size` and `mtime` are those of
    the file it was read from, `digest` that of its content (blake2b, 128 bits in hex; None where it is not
    known); `thumbnail` is a JPEG.
    """

    key: str
    metadata: str | None = None
    source: str | None = None
    size: int | None = None
    mtime: int | None = None
    thumbnail: bytes | None = None
    digest: str | None = None


class Known(NamedTuple):
    """What a writer looks at before it describes a file again."""

    size: int | None
    mtime: int | None
    metadata: str
    source: str | None
    digest: str | None


class Source(NamedTuple):
    """The file that an item was read from, as it was then."""

    key: str
    source: str
    size: int | None
    mtime: int | None
    digest: str | None


class Lost(NamedTuple):
    """An item of which a `part` is damaged: its row in the catalogue, its vector or its thumbnail.

    Where it is the row, nothing else is certain either.
    """

    part: str
    number: int
    key: str
    metadata: str
    source: str | None
    size: int | None
    mtime: int | None
    digest: str | None


class Copy(NamedTuple):
    """A copy of a store with all its faults: `url` opens it.

    `put_in_place` makes it the store, and says where that, as it was, is kept.
    """

    url: str
    put_in_place: Callable[[], str]


class Counts(NamedTuple):
    """What came of the records of one change."""

    added: int
    replaced: int
    unchanged: int


@dataclass(frozen=True)
class Item(AsDict):
    """One item. `source` is the file it was read from, `added` the time in ISO form (UTC)."""

    key: str
    metadata: dict[str, Any]
    source: str | None
    added: str


class Batch(NamedTuple):
    """Some items, by ascending number. Rows of `vectors` are theirs; none where none were asked for."""

    numbers: IntArray
    keys: list[str]
    metadata: list[str]
    vectors: Float32Array


class Fetched(NamedTuple):
    """Vectors in the order of the keys that were asked for; a row of zeros where `found` is False."""

    vectors: Float32Array
    found: BoolArray


class Found(NamedTuple):
    """For each query the keys of its nearest items, best first, and their similarities (queries, keys)."""

    keys: list[list[str]]
    similarities: Float32Array


class Group(NamedTuple):
    """Rows that were put together."""

    kind: str
    version: int


class Checked(NamedTuple):
    """What a store found when it checked itself.

    `runs` counts the runs of vectors whose checksums were compared; `readable` says whether vectors can be
    read at all; `bytes` is how much was read.
    """

    items: int
    runs: int
    problems: tuple[str, ...]
    readable: bool = True
    bytes: int = 0


class Snapshot:
    """One version of a collection: facts, and all items by ascending number. Metadata is JSON.

    Vectors are another matter: `vectors()` is the one place where all of them come into memory.
    """

    def __init__(
        self,
        facts: Facts,
        numbers: IntArray,
        keys: list[str],
        metadata: list[str],
        gather: Callable[[], Float32Array],
    ) -> None:
        self.facts, self.numbers, self.keys, self.metadata = facts, numbers, keys, metadata
        self._gather = gather
        self._vectors: Float32Array | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.keys)

    def vectors(self) -> Float32Array:
        """All vectors, (n, d), gathered when first asked for and kept as long as this snapshot."""
        if self._vectors is None:
            with self._lock:
                if self._vectors is None:
                    self._vectors = self._gather()
        return self._vectors
