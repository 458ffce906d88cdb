"""What every store is: a place where vectors live, with keys, metadata and whatever is derived from them.

An item has a number, which is given once and never again, and a key, which is unique. A vector never changes
under its number: an item whose vector is replaced gets a new one. With the cosine metric vectors are kept at
length one.

A store provides the abstract members. The others are built on them; a store that can do better overrides
them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from foldwalk.core.errors import BadInput
from foldwalk.core.types import Float32Array
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors import prepare
from foldwalk.stores.checks import check_keys, check_root
from foldwalk.stores.errors import Outdated, unknown_key
from foldwalk.stores.nearest import nearest
from foldwalk.stores.types import (
    Batch,
    Checked,
    Copy,
    Counts,
    Facts,
    Fetched,
    Found,
    Group,
    Item,
    Known,
    Lost,
    Record,
    Snapshot,
    Source,
)

AT_A_TIME = 16_384  # items of one scan
Buffer = bytes | bytearray | memoryview


class Writer(ABC):
    """Holds the writer's lock; each call that changes something is one committed change, whole or not at all.

    What was committed stays, whatever happens to the writer later.
    """

    @abstractmethod
    def facts(self) -> Facts:
        """The facts as the last change left them."""

    @abstractmethod
    def known(self, keys: Iterable[str]) -> dict[str, Known]:
        """What is noted of those of the keys that are there."""

    def upsert(self, vectors: Vectors, records: Sequence[Record], identity: str | None = None) -> Counts:
        """Every record with its vector: new, replaced, or found unchanged. Bad input changes nothing.

        `identity` is that of the backbone that made the vectors.
        """
        facts = self.facts()
        if facts.dim is not None and vectors.dim != facts.dim:
            raise BadInput(f"vectors has {vectors.dim} dimensions, but {facts.dim} were expected.")
        if len(records) != len(vectors):
            raise BadInput(f"there are {len(vectors)} vectors, but {len(records)} keys.")
        check_keys(record.key for record in records)
        return self.put_items(prepare(vectors, facts.metric, scale=1.0).values, records, identity)

    def delete(self, keys: Iterable[str]) -> int:
        """All of these items go, or none where one is unknown. Says how many there were."""
        named = check_keys(keys)
        return self.drop_items(named) if named else 0

    def rename(self, moved: Mapping[str, Record]) -> None:
        """New keys for items that are there, by the old ones, with what the records tell of their files.

        All or none. An item keeps its number, vector, metadata and thumbnail; the version grows.
        """
        new = check_keys(record.key for record in moved.values())
        for key in moved.keys() - self.known(moved):
            raise unknown_key(key)
        for key in self.known(key for key in new if key not in moved):
            raise BadInput(f"there is an item {key!r} already; choose another key.")
        if moved:
            self.rename_items(moved)

    def add_root(self, prefix: str, folder: str) -> None:
        """Note the folder below which the sources of the keys with this prefix lie, in place of another."""
        check_root(prefix, folder)
        self.put_root(prefix, folder)

    @abstractmethod
    def put_items(self, rows: Float32Array, records: Sequence[Record], identity: str | None) -> Counts:
        """The change of `upsert`, with input that was checked and rows as the metric sees them.

        A key that is there with another vector is replaced: the item gets a new number, its metadata stay
        unless the record brings others. One with the same vector keeps its number; new metadata count as
        replaced, a new source alone as unchanged. Where nothing changed, the version does not either.
        """

    @abstractmethod
    def drop_items(self, keys: Sequence[str]) -> int:
        """The change of `delete`, with keys that were checked. A store that is empty then has no dim."""

    @abstractmethod
    def relabel(self, metadata: Mapping[str, str]) -> None:
        """New metadata (JSON) for items that are there, by key."""

    @abstractmethod
    def rename_items(self, moved: Mapping[str, Record]) -> None:
        """The change of `rename`, with keys that were checked. Items may take each other's keys."""

    @abstractmethod
    def put_root(self, prefix: str, folder: str) -> None:
        """The change of `add_root`; where nothing changed, the version does not either."""


class Store(ABC):
    """A place where vectors live. One object may be shared by threads; many may read while one writes.

    `url` opens it again; `place` is what messages call it, which never holds a password.
    """

    name: ClassVar[str]
    schemes: ClassVar[tuple[str, ...]]
    summary: ClassVar[str]
    extra: ClassVar[str | None] = None
    url: str
    place: str

    # Open and close ---------------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def create(cls, url: str, metric: str, backbone: str | None) -> Self:
        """A new, empty store. One that exists already is refused."""

    @classmethod
    @abstractmethod
    def open(cls, url: str) -> Self:
        """One that exists. An older format is read as it is, and brought up to date by the first change; a
        newer one is refused."""

    @classmethod
    @abstractmethod
    def exists(cls, url: str) -> bool:
        """Whether something is there already."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections."""

    @abstractmethod
    def erase(self) -> None:
        """Close it, and remove it with everything in it."""

    # Read -------------------------------------------------------------------------------------------------

    @abstractmethod
    def facts(self) -> Facts:
        """Metric, dimensions, backbone, format and version."""

    @abstractmethod
    def version(self) -> int:
        """Of the last change; must be quick, it is asked before every search."""

    @abstractmethod
    def count(self, where: Mapping[str, Any] | None = None) -> int:
        """How many items there are, or how many meet the conditions on their metadata."""

    @abstractmethod
    def scan(self, after: int = -1, batch: int = AT_A_TIME, with_vectors: bool = True) -> Batch:
        """The next items whose number is above `after`, at most `batch` of them; none at the end.

        With the last number of one batch the scan goes on, at any time and in any process.
        """

    @abstractmethod
    def fetch(self, keys: Sequence[str]) -> Fetched:
        """Vectors in the order of the keys, unknown ones marked."""

    @abstractmethod
    def items(self, keys: Sequence[str]) -> list[Item | None]:
        """Metadata, source and time in the order of the keys, None for unknown ones."""

    @abstractmethod
    def thumbnail(self, key: str) -> bytes | None:
        """A small JPEG; None where the item came without a picture."""

    @abstractmethod
    def sources(self) -> Iterator[Source]:
        """The files of all items that were read from one, by number. They are read some at a time."""

    @abstractmethod
    def roots(self) -> dict[str, str]:
        """The folders that sources lie below, by the prefix of their keys."""

    def item(self, key: str) -> Item:
        """One item; an unknown key is an error."""
        (found,) = self.items([key])
        if found is None:
            raise unknown_key(key)
        return found

    def search(self, queries: npt.ArrayLike, k: int, where: Mapping[str, Any] | None = None) -> Found:
        """The k nearest items of each query among those that meet the conditions, ties by number.

        Euclidean similarities are 1 / (1 + distance) in the unit in which the vectors are stored.
        Never short: where fewer than k meet them, all that do. Unless a store does better, this is exact and
        reads every vector, some at a time.
        """
        return nearest(self.facts(), self.batches(), queries, k, where)

    def batches(self, batch: int = AT_A_TIME, with_vectors: bool = True) -> Iterator[Batch]:
        """One scan after the other, to the end."""
        after = -1
        while len((found := self.scan(after, batch, with_vectors)).keys):
            yield found
            after = int(found.numbers[-1])

    def snapshot(self) -> Snapshot:
        """All items of one version. Their vectors are read when they are asked for."""
        while True:
            facts = self.facts()
            parts = list(self.batches(with_vectors=False))
            if self.version() == facts.version:
                break
        numbers = np.concatenate([np.zeros(0, np.int64), *(part.numbers for part in parts)])
        keys = [key for part in parts for key in part.keys]
        texts = [text for part in parts for text in part.metadata]

        def gather() -> Float32Array:
            out = np.zeros((len(numbers), facts.dim or 0), np.float32)
            seen = 0
            for part in self.batches():
                places = np.searchsorted(numbers, part.numbers)
                places[places == len(numbers)] = 0
                ours = numbers[places] == part.numbers if len(numbers) else np.zeros(len(places), bool)
                out[places[ours]] = part.vectors[ours]
                seen += int(ours.sum())
            if seen < len(numbers):
                raise Outdated(f"{self.place} changed before its vectors were read; ask again.")
            return out

        return Snapshot(facts, numbers, keys, texts, gather)

    # Change -----------------------------------------------------------------------------------------------

    @abstractmethod
    def writing(self) -> AbstractContextManager[Writer]:
        """The one writer there may be; a second is told so at once."""

    def upsert(self, vectors: Vectors, records: Sequence[Record], identity: str | None = None) -> Counts:
        """One change by a writer of its own."""
        with self.writing() as writer:
            return writer.upsert(vectors, records, identity)

    def delete(self, keys: Iterable[str]) -> int:
        """One change by a writer of its own."""
        with self.writing() as writer:
            return writer.delete(keys)

    # What is derived from the vectors ---------------------------------------------------------------------

    @abstractmethod
    def put_rows(self, kind: str, version: int, rows: Mapping[str, Buffer]) -> bool:
        """Keep a group of named bytes, whole or not at all; what the same kind and version had is replaced.

        A kind is words of small letters, digits, _ and -, joined by /. What is kept here can be made again:
        where there is no room or no right to write, the answer is False.
        """

    @abstractmethod
    def get_rows(
        self, kind: str, version: int, keys: Iterable[str] | None = None
    ) -> dict[str, bytearray] | None:
        """The rows of a group, or those of the keys that it has; None where it is absent or damaged."""

    @abstractmethod
    def groups(self, kind: str) -> list[Group]:
        """What is kept of a kind and of the kinds below it (fitted: fitted/cas-...), oldest first."""

    @abstractmethod
    def drop_rows(self, kind: str, version: int) -> None:
        """Forget a group; nothing happens where it is absent."""

    # Look after it ----------------------------------------------------------------------------------------

    @abstractmethod
    def verify(self) -> Checked:
        """Check everything that is kept against everything that is known of it; change nothing."""

    def backup(self, target: Path, replace: bool = False) -> Checked:  # noqa: ARG002
        """Copy one version of it, while others write, to a folder that is an index itself, and check it.

        What is there is refused, or replaced where it is an index. A database has means of its own.
        """
        raise BadInput(f"{self.place} is no folder; back it up by the means of its database.")

    def forgive(self) -> None:  # noqa: B027
        """For those who mend it: calls go on, whatever a store has found by itself to be damaged."""

    def copied(self) -> AbstractContextManager[Copy]:
        """A copy to be mended, under the writer's lock, which vanishes unless it is put in place."""
        raise BadInput(f"{self.place} is no folder; repair it by the means of its database.")

    def mend(  # noqa: B027
        self, drop: Sequence[int] = (), thumbnails: Mapping[int, bytes | None] | None = None
    ) -> None:
        """Remove items, and replace or remove thumbnails, by number; put right what no item needs."""

    def lost(self) -> list[Lost]:
        """The items of which something is damaged, after a first `mend`."""
        return []

    @abstractmethod
    def size_in_bytes(self) -> int:
        """The room it takes."""

    def gaps(self) -> float:
        """The share of that room which removed items take up, as far as `compact` gives it back."""
        return 0.0

    def compact(self) -> None:  # noqa: B027
        """Give back the room of removed items. Counts as a change only where there was some."""
