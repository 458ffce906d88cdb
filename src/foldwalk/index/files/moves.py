"""Pictures whose files are gone, and those of them that lie elsewhere now, by the digest of their content."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cache

from foldwalk.core.digests import digest_of_file
from foldwalk.core.progress import task
from foldwalk.index.files.disk import is_gone, is_there
from foldwalk.index.files.finding import Found
from foldwalk.index.files.looking import File
from foldwalk.index.files.roots import Roots, rest_below
from foldwalk.stores import Record, Store, Writer
from foldwalk.stores.types import Known, Source

NOTED_AT_ONCE = 1024


class Gone:
    """Tells the items whose files are gone. Where a whole folder is, a disk may only be unplugged.

    With `force` an empty folder counts as there.
    """

    def __init__(self, roots: Roots, named: Sequence[str], force: bool = False) -> None:
        self.roots, self.named = roots, named
        self._anchors = [*(root.folder for root in roots.known), *named]
        self._look = os.path.isdir if force else is_there
        self._is_there = cache(self._look)

    def __contains__(self, source: Source) -> bool:
        return self._is_there(self._anchor(source)) and is_gone(source.source)

    def of_those_named(self, present: AbstractSet[str]) -> list[str]:
        """The keys of items below the folders that were named, whose files are gone; `present` are not."""
        absent = (s for s in self.roots.sources if s.key not in present and self._is_named(s))
        anchors = {source.key: self._anchor(source) for source in absent if source in self}
        # Looked at again: a disk may have been unplugged since the first look.
        still_there = {anchor for anchor in set(anchors.values()) if self._look(anchor)}
        return [key for key, anchor in anchors.items() if anchor in still_there]

    def _is_named(self, source: Source) -> bool:
        return any(rest_below(source.source, folder) for folder in self.named)

    def _anchor(self, source: Source) -> str:
        """The folder that has to be there for a file of it to be gone."""
        holding = [folder for folder in self._anchors if rest_below(source.source, folder)]
        return max(holding, key=len, default=os.path.dirname(source.source))


def moved(fresh: Sequence[File], gone: Gone) -> dict[str, Record]:
    """The records of new files whose content an item had whose file is gone, by the keys of these items."""
    sizes = {file.record.size for file in fresh}
    candidates = defaultdict(list)
    for source in gone.roots.sources:
        if source.digest is not None and source.size in sizes and source in gone:
            candidates[source.digest].append(source)
    sizes = {source.size for sources in candidates.values() for source in sources}
    found = {}
    for file in fresh:
        if file.record.size in sizes:
            record = _with_digest(file)
            left = candidates.get(record.digest or "")
            if left:
                name = file.path.name
                same_name = [source for source in left if os.path.basename(source.source) == name]
                old = (same_name or left)[0]
                left.remove(old)
                found[old.key] = record
    return found


def _with_digest(file: File) -> Record:
    try:
        return replace(file.record, digest=digest_of_file(file.path))
    except OSError:  # describing it will say why
        return file.record


def note_digests(writer: Writer, files: Sequence[File]) -> None:
    """Digests for items that were described before these were noted, some at a time."""
    known = writer.known(file.record.key for file in files)
    without = [file for file in files if _lacks_digest(file.record, known.get(file.record.key))]
    with task("reading", total=len(without), unit="pictures") as advance:
        for start in range(0, len(without), NOTED_AT_ONCE):
            part = [_with_digest(file) for file in without[start : start + NOTED_AT_ONCE]]
            writer.rename({record.key: record for record in part if record.digest is not None})
            advance(len(part))


def _lacks_digest(record: Record, known: Known | None) -> bool:
    return known is not None and known.digest is None and (record.size, record.mtime) == known[:2]


def relocate(store: Store, writer: Writer, finds: Sequence[Found]) -> list[str]:
    """Known folders that are gone as a whole and were named where they lie now; a sentence for each."""
    notes: list[str] = []
    if all(is_there(folder) for folder in store.roots().values()):
        return notes
    for found in finds:
        if found.folder is None or found.root is not None:
            continue
        roots, here = Roots(store), os.path.abspath(found.folder)
        old = roots.moved_to(here) if roots.holding(os.path.realpath(here)) is None else None
        if old is not None:
            inside = [(source, os.path.join(here, rest)) for source, rest in roots.inside(old.folder)]
            writer.rename(
                {s.key: Record(s.key, None, path, s.size, s.mtime, digest=s.digest) for s, path in inside}
            )
            writer.add_root(old.prefix, here)
            notes.append(f"{old.folder} lies at {here} now")
    return notes
