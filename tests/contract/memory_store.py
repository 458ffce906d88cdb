"""The least a store can be: the abstract members and nothing else, kept in this process."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from foldwalk.core import BadInput, MissingData
from foldwalk.stores import Busy, Facts, Item, Record, Store, Writer
from foldwalk.stores.base import AT_A_TIME, Buffer
from foldwalk.stores.checks import check_kind
from foldwalk.stores.errors import unknown_key
from foldwalk.stores.nearest import matches
from foldwalk.stores.types import Batch, Checked, Counts, Fetched, Group, Known, Source

FORMAT = 3


@dataclass
class Kept:
    facts: Facts
    items: dict[int, tuple[Record, np.ndarray]] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)
    rows: dict[Group, dict[str, bytes]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def numbers(self) -> dict[str, int]:
        return {record.key: number for number, (record, _) in self.items.items()}


KEPT: dict[str, Kept] = {}


class MemoryWriter(Writer):
    def __init__(self, kept: Kept) -> None:
        self.kept = kept

    def facts(self) -> Facts:
        return self.kept.facts

    def known(self, keys: Iterable[str]) -> dict[str, Known]:
        numbers = self.kept.numbers()
        found = {key: self.kept.items[numbers[key]][0] for key in keys if key in numbers}
        return {key: Known(r.size, r.mtime, r.metadata, r.source, r.digest) for key, r in found.items()}

    def put_items(self, rows: np.ndarray, records: Sequence[Record], identity: str | None) -> Counts:
        kept, numbers = self.kept, self.kept.numbers()
        items, following = dict(kept.items), kept.facts.next_number
        added = replaced = 0
        for row, record in zip(rows, records, strict=True):
            number = numbers.get(record.key)
            old = items.get(number)
            metadata = record.metadata or (old[0].metadata if old else "{}")
            if old is not None and (old[1] == row).all():
                replaced += metadata != old[0].metadata
                items[number] = replace(record, metadata=metadata), row
                continue
            items.pop(number, None)
            items[following] = replace(record, metadata=metadata), row.copy()
            following += 1
            added, replaced = added + (old is None), replaced + (old is not None)
        kept.items = items
        if added or replaced:
            self._change(
                following, dim=rows.shape[1], identity=identity or kept.facts.identity, next_number=following
            )
        return Counts(added, replaced, len(records) - added - replaced)

    def drop_items(self, keys: Sequence[str]) -> int:
        numbers = self.kept.numbers()
        for key in keys:
            if key not in numbers:
                raise unknown_key(key)
        gone = {numbers[key] for key in keys}
        self.kept.items = {number: item for number, item in self.kept.items.items() if number not in gone}
        self._change(-1, **({} if self.kept.items else {"dim": None, "identity": None}))
        return len(gone)

    def relabel(self, metadata: Mapping[str, str]) -> None:
        numbers = self.kept.numbers()
        for key, text in metadata.items():
            record, row = self.kept.items[numbers[key]]
            self.kept.items[numbers[key]] = replace(record, metadata=text), row
        if metadata:
            self._change(self.kept.facts.next_number)

    def rename_items(self, moved: Mapping[str, Record]) -> None:
        numbers = self.kept.numbers()
        for key, new in moved.items():
            record, row = self.kept.items[numbers[key]]
            kept = {"metadata": record.metadata, "thumbnail": record.thumbnail}
            self.kept.items[numbers[key]] = replace(new, **kept), row
        self._change(self.kept.facts.next_number)

    def put_root(self, prefix: str, folder: str) -> None:
        if self.kept.roots.get(prefix) != folder:
            self.kept.roots[prefix] = folder
            self._change(self.kept.facts.next_number)

    def _change(self, following: int, **changes: Any) -> None:
        facts = self.kept.facts
        version = facts.version + 1
        same = following == facts.next_number
        vectors_version = facts.vectors_version if same else version
        self.kept.facts = replace(facts, version=version, vectors_version=vectors_version, **changes)


class MemoryStore(Store):
    name = "memory"
    schemes = ("memory",)
    summary = "for tests"

    def __init__(self, url: str) -> None:
        self.url = self.place = url
        self.kept = KEPT[url]

    @classmethod
    def create(cls, url: str, metric: str, backbone: str | None) -> Self:
        if url in KEPT:
            raise BadInput(f"{url} exists already.")
        if metric not in ("cosine", "euclidean"):
            raise BadInput(f"metric {metric} is unknown.")
        KEPT[url] = Kept(Facts(metric, None, backbone, None, FORMAT, f"uid of {url}", 0, 0, 0))
        return cls(url)

    @classmethod
    def open(cls, url: str) -> Self:
        if url not in KEPT:
            raise MissingData(f"{url} does not exist.")
        if KEPT[url].facts.format > FORMAT:
            raise BadInput(f"{url} was written by a newer foldwalk.")
        return cls(url)

    @classmethod
    def exists(cls, url: str) -> bool:
        return url in KEPT

    def close(self) -> None:
        pass

    def erase(self) -> None:
        del KEPT[self.url]

    def facts(self) -> Facts:
        return self.kept.facts

    def version(self) -> int:
        return self.kept.facts.version

    def count(self, where: Mapping[str, Any] | None = None) -> int:
        return int(matches([record.metadata or "{}" for record, _ in self.kept.items.values()], where).sum())

    def scan(self, after: int = -1, batch: int = AT_A_TIME, with_vectors: bool = True) -> Batch:
        numbers = sorted(number for number in self.kept.items if number > after)[:batch]
        found = [self.kept.items[number] for number in numbers]
        rows = np.array([row for _, row in found] if with_vectors else [], np.float32)
        return Batch(
            np.array(numbers, np.int64),
            [record.key for record, _ in found],
            [record.metadata or "{}" for record, _ in found],
            rows.reshape(-1, self.kept.facts.dim or 1),
        )

    def fetch(self, keys: Sequence[str]) -> Fetched:
        numbers = self.kept.numbers()
        out = np.zeros((len(keys), self.kept.facts.dim or 0), np.float32)
        found = np.array([key in numbers for key in keys], bool)
        for place in np.flatnonzero(found):
            out[place] = self.kept.items[numbers[keys[place]]][1]
        return Fetched(out, found)

    def items(self, keys: Sequence[str]) -> list[Item | None]:
        numbers = self.kept.numbers()
        found = [self.kept.items[numbers[key]][0] if key in numbers else None for key in keys]
        return [r and Item(r.key, json.loads(r.metadata or "{}"), r.source, "2020-01-01") for r in found]

    def thumbnail(self, key: str) -> bytes | None:
        self.item(key)
        return self.kept.items[self.kept.numbers()[key]][0].thumbnail

    def sources(self) -> Iterator[Source]:
        for record, _ in list(self.kept.items.values()):
            if record.source is not None:
                yield Source(record.key, record.source, record.size, record.mtime, record.digest)

    def roots(self) -> dict[str, str]:
        return dict(self.kept.roots)

    @contextmanager
    def writing(self) -> Iterator[MemoryWriter]:
        if not self.kept.lock.acquire(blocking=False):
            raise Busy(f"{self.url} is being written.")
        try:
            yield MemoryWriter(self.kept)
        finally:
            self.kept.lock.release()

    def put_rows(self, kind: str, version: int, rows: Mapping[str, Buffer]) -> bool:
        check_kind(kind)
        self.kept.rows.pop(Group(kind, version), None)
        self.kept.rows[Group(kind, version)] = {name: bytes(content) for name, content in rows.items()}
        return True

    def get_rows(
        self, kind: str, version: int, keys: Iterable[str] | None = None
    ) -> dict[str, bytearray] | None:
        found = self.kept.rows.get(Group(kind, version))
        if found is None:
            return None
        return {name: bytearray(found[name]) for name in (found if keys is None else keys) if name in found}

    def groups(self, kind: str) -> list[Group]:
        return [group for group in self.kept.rows if (group.kind + "/").startswith(kind + "/")]

    def drop_rows(self, kind: str, version: int) -> None:
        self.kept.rows.pop(Group(kind, version), None)

    def verify(self) -> Checked:
        return Checked(len(self.kept.items), 1, ())

    def size_in_bytes(self) -> int:
        return sum(row.nbytes for _, row in self.kept.items.values())
