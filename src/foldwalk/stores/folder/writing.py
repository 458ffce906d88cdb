"""Changes: rows are appended and synced first, then one transaction makes them count."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from foldwalk.core.types import Float32Array
from foldwalk.stores.base import Writer
from foldwalk.stores.checks import is_text
from foldwalk.stores.errors import unknown_key
from foldwalk.stores.folder import mending
from foldwalk.stores.folder.blocks import append, cut_leftovers, map_rows, next_block
from foldwalk.stores.folder.catalog import Catalog, transaction
from foldwalk.stores.folder.checksums import row_checksum
from foldwalk.stores.folder.compacting import compact
from foldwalk.stores.folder.errors import nothing_changed, write_errors
from foldwalk.stores.folder.formats import digest_column
from foldwalk.stores.folder.items import Present, alter, delete, insert, of_file
from foldwalk.stores.folder.outcome import outcome
from foldwalk.stores.folder.reading import places
from foldwalk.stores.folder.roots import read_roots
from foldwalk.stores.folder.segments import note_appended
from foldwalk.stores.folder.state import State
from foldwalk.stores.folder.upgrade import bring_up_to_date
from foldwalk.stores.types import Counts, Facts, Known, Record


class FolderWriter(Writer):
    """Works on the connection of `Catalog.writing`."""

    def __init__(self, catalog: Catalog, db: sqlite3.Connection) -> None:
        self.catalog, self.db = catalog, db

    def facts(self) -> Facts:
        return State.read(self.db).facts()

    def known(self, keys: Iterable[str]) -> dict[str, Known]:
        columns = f"size, mtime, metadata, source, {digest_column(State.read(self.db).format)}"
        # A name that is no text, as a file's may be, is no key either, and SQLite would not take it.
        found = {key: self._one(columns, key) for key in keys if is_text(key)}
        return {key: Known(*row) for key, row in found.items() if row is not None}

    def put_items(self, rows: Float32Array, records: Sequence[Record], identity: str | None) -> Counts:
        state = State.read(self.db)
        known = self._present(state, rows, records)
        fresh = [i for i, old in enumerate(known) if old is None or not old.same_vector]
        kept = [(old, record) for old, record in zip(known, records, strict=True) if old and old.same_vector]
        noted = {old.number: changes for old, record in kept if (changes := old.changes(record))}
        relabelled = sum(old.relabelled(record) for old, record in kept)
        if fresh or noted:
            written = rows if len(fresh) == len(rows) else rows[fresh]
            with self._change(state, written, grows=bool(fresh or relabelled)) as changed:
                if fresh:
                    replaced = [known[i] for i in fresh]
                    insert(self.db, state.next_number, state.rows, [records[i] for i in fresh], replaced)
                for number, changes in noted.items():
                    alter(self.db, number, changes)
                if fresh or relabelled:
                    replace(changed, identity=identity or state.identity).write(self.db)
        added = sum(old is None for old in known)
        replaced_items = len(fresh) - added + relabelled
        return Counts(added, replaced_items, len(records) - added - replaced_items)

    def relabel(self, metadata: Mapping[str, str]) -> None:
        if metadata:
            numbers = {key: self._number(key) for key in metadata}
            with self._change(State.read(self.db)) as changed:
                for key, text in metadata.items():
                    alter(self.db, numbers[key], {"metadata": text})
                changed.write(self.db)

    def rename_items(self, moved: Mapping[str, Record]) -> None:
        numbers = {key: self._number(key) for key in moved}
        with self._change(State.read(self.db)) as changed:
            # Keys are unique at every moment: first out of the way, under names that no key can have.
            for number in numbers.values():
                alter(self.db, number, {"key": f"\0{number}"})
            for key, record in moved.items():
                alter(self.db, numbers[key], {"key": record.key, **of_file(record)})
            changed.write(self.db)

    def put_root(self, prefix: str, folder: str) -> None:
        state = State.read(self.db)
        if read_roots(self.db, state).get(prefix) != folder:
            with self._change(state) as changed:
                root = (prefix, folder, row_checksum(prefix, folder))
                self.db.execute("INSERT OR REPLACE INTO roots VALUES (?, ?, ?)", root)
                changed.write(self.db)

    def drop_items(self, keys: Sequence[str]) -> int:
        numbers, state = [self._number(key) for key in keys], State.read(self.db)
        with self._change(state) as changed:
            self._remove(numbers, changed)
        return len(numbers)

    def mend(self, drop: Sequence[int], thumbnails: Mapping[int, bytes | None]) -> None:
        """Remove what is damaged by number, and put right what no item needs."""
        mending.make_whole(self.db, self.catalog.folder)
        state = State.read(self.db)
        with self._change(state) as changed:
            mending.put_thumbnails(self.db, thumbnails)
            self._remove(drop, changed)
            mending.put_right(self.db, self.catalog.folder)

    def _remove(self, numbers: Sequence[int], changed: State) -> None:
        delete(self.db, numbers)
        changed = replace(changed, vectors_version=changed.version)
        if not self.db.execute("SELECT 1 FROM items LIMIT 1").fetchone():
            # Empty again: vectors of another dimension may come. Readers may still look at the old file.
            self.db.execute("DELETE FROM segments")
            changed = replace(changed, block=next_block(changed.block), rows=0, dim=None, identity=None)
        changed.write(self.db)

    def compact(self) -> None:
        """Write the rows that count into a new file, in order, where removed ones left gaps."""
        state = State.read(self.db)
        (items,) = self.db.execute("SELECT count(*) FROM items").fetchone()
        if items < state.rows and state.dim is not None:
            with self._change(state) as changed:
                compacted = compact(self.db, self.catalog.folder, changed)
            cut_leftovers(self.catalog.folder, compacted.block, compacted.rows * state.dim * 4)

    @contextmanager
    def _change(self, state: State, rows: Float32Array | None = None, grows: bool = True) -> Iterator[State]:
        """One change of the catalogue, in the present format, behind the rows that it brings.

        Gives the state after it, which is the caller's to write where the version `grows`; what stopped
        writers left is cut off first.
        """
        index = self.catalog.folder
        changed = replace(state, version=state.version + 1)
        committing = False

        def came_of_it() -> str:
            after = changed.version if grows else None
            return outcome(index, state.version, after) if committing else nothing_changed()

        with write_errors(index, came_of_it):
            cut_leftovers(index, state.block, state.rows * (state.dim or 0) * 4)
            if rows is not None and len(rows):
                append(index, state.block, state.rows, rows)
                changed = _with_rows(changed, rows)
            with transaction(self.db):
                bring_up_to_date(self.db, index)
                if changed.rows > state.rows:
                    stored = map_rows(index, state.block, changed.rows, changed.dim or 0)
                    note_appended(self.db, stored, state.rows)
                yield changed
                committing = True

    def _present(self, state: State, rows: Float32Array, records: Sequence[Record]) -> list[Present | None]:
        """For each record the item that has its key already."""
        stored = map_rows(self.catalog.folder, state.block, state.rows, state.dim or rows.shape[1])
        columns = f"number, row, metadata, source, size, mtime, {digest_column(state.format)}"
        found: list[Present | None] = []
        for vector, record in zip(rows, records, strict=True):
            old = self._one(columns, record.key)
            if old is None:
                found.append(None)
            else:
                number, row, metadata, *file = old
                (place,) = places([row], state.rows)
                found.append(Present(number, metadata, tuple(file), np.array_equal(stored[place], vector)))
        return found

    def _number(self, key: str) -> int:
        found = self._one("number", key)
        if found is None:
            raise unknown_key(key)
        return int(found[0])

    def _one(self, columns: str, key: str) -> Any:
        return self.db.execute(f"SELECT {columns} FROM items WHERE key = ?", (key,)).fetchone()


def _with_rows(state: State, rows: Float32Array) -> State:
    return replace(
        state,
        dim=rows.shape[1],
        rows=state.rows + len(rows),
        next_number=state.next_number + len(rows),
        vectors_version=state.version,
    )
