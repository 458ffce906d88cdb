"""Pictures into the index: described batch by batch, each batch one committed change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from PIL.Image import Image

from foldwalk import descriptors
from foldwalk.core.errors import BadInput
from foldwalk.core.vectors import Vectors
from foldwalk.descriptors import Backbone
from foldwalk.index.files.disk import is_gone
from foldwalk.index.files.finding import Found, Metadata, PathLike, find
from foldwalk.index.files.looking import File, look_at
from foldwalk.index.files.moves import Gone, moved, note_digests, relocate
from foldwalk.index.files.naming import name_pictures
from foldwalk.index.files.roots import Roots
from foldwalk.index.types import AddReport, Moved, Skipped
from foldwalk.stores import Record, Store, Writer
from foldwalk.stores.checks import check_key, metadata_text
from foldwalk.stores.types import Counts

COMMIT_EVERY = 256  # pictures: what a stop can lose
BATCH = 32


def add_images(
    store: Store,
    backbone: Backbone,
    paths_or_folder: PathLike | Iterable[PathLike],
    root: PathLike | None,
    metadata: Metadata | None,
    on_bad: str,
    prune: bool,
) -> AddReport:
    if on_bad not in ("skip", "raise"):
        raise BadInput(f'on_bad must be "skip" or "raise", but it is {on_bad!r}.')
    return take_up(store, backbone, [find(paths_or_folder, root)], metadata, on_bad == "raise", prune)


def take_up(
    store: Store,
    backbone: Backbone,
    finds: Sequence[Found],
    metadata: Metadata | None = None,
    strict: bool = False,
    prune: bool = False,
    force: bool = False,
    digests: bool = False,
) -> AddReport:
    """What is new or changed is described, what has moved is renamed; what is gone is told, or removed.

    `force` takes an empty folder for what it is; `digests` notes those of pictures that came without.
    """
    with store.writing() as writer:
        notes = relocate(store, writer, finds)
        roots = Roots(store)
        names = name_pictures(finds, roots, writer)
        files, skipped = look_at(names, writer, metadata)
        _refuse(skipped, strict)
        for root in names.new:
            writer.add_root(root.prefix, root.folder)
        gone = Gone(roots, names.folders, force)
        renamed = _follow(writer, files, gone)
        report = AddReport(
            skipped=skipped,
            moved=[Moved(old, record.key) for old, record in renamed.items()],
            roots=roots.of_folders(names.folders),
            notes=notes + names.notes,
        )
        changed, report = _compare(writer, files, report)
        for vectors, records, bad in described(changed, backbone):
            _refuse(bad, strict)
            if records:
                report = _plus(report, writer.upsert(vectors, records, backbone.identity))
            report.skipped.extend(bad)
        if digests:
            note_digests(writer, files)
        present = {file.record.key for file in files}.union(renamed)
        vanished = gone.of_those_named(present)
        removed = writer.delete(vanished) if prune else 0
    return replace(report, vanished=vanished, removed=removed)


def add_picture(
    store: Store, backbone: Backbone, picture: Image, key: str, metadata: Mapping[str, Any] | None
) -> AddReport:
    text = None if metadata is None else metadata_text(check_key(key), metadata)
    colours = picture.convert("RGB")
    record = Record(check_key(key), text, thumbnail=descriptors.thumbnail(colours))
    vectors = Vectors.check(backbone.embed([colours]), key)
    return AddReport(*store.upsert(vectors, [record], backbone.identity))


def _refuse(skipped: Sequence[Skipped], strict: bool) -> None:
    if strict and skipped:
        raise BadInput(f"{skipped[0].path}: {skipped[0].reason}")


def _follow(writer: Writer, files: Sequence[File], gone: Gone) -> dict[str, Record]:
    """Rename the items whose files have moved; by their old keys, what is noted of them now."""
    known = writer.known(file.record.key for file in files)
    renamed = moved([file for file in files if file.record.key not in known], gone)
    writer.rename(renamed)
    return renamed


def _compare(writer: Writer, files: Sequence[File], report: AddReport) -> tuple[list[File], AddReport]:
    """The files to be described. What else is new of the others is noted."""
    known = writer.known(file.record.key for file in files)
    changed, relabelled, elsewhere = [], {}, {}
    for file in files:
        record, old = file.record, known.get(file.record.key)
        if old is None or (record.size, record.mtime) != (old.size, old.mtime):
            changed.append(file)
            continue
        if record.metadata is not None and record.metadata != old.metadata:
            relabelled[record.key] = record.metadata
        if old.source is not None and old.source != record.source and is_gone(old.source):
            elsewhere[record.key] = replace(record, digest=old.digest)
    writer.relabel(relabelled)
    writer.rename(elsewhere)
    passed_over = {file.record.key for file in files} - {file.record.key for file in changed}
    unchanged = passed_over - relabelled.keys() - {pair.new for pair in report.moved}
    return changed, replace(report, replaced=len(relabelled), unchanged=len(unchanged))


def described(
    files: Sequence[File], backbone: Backbone
) -> Iterator[tuple[Vectors, list[Record], list[Skipped]]]:
    """Vectors and records, enough for one commit at a time."""
    by_path = {file.path: file.record for file in files}
    parts: list[np.ndarray] = []
    records: list[Record] = []
    skipped: list[Skipped] = []
    for batch in descriptors.extract([f.path for f in files], backbone, batch=BATCH, thumbnails=True):
        for path, jpeg, digest in zip(batch.paths, batch.thumbnails or [], batch.digests, strict=True):
            records.append(replace(by_path[path], thumbnail=jpeg, digest=digest))
        parts.append(batch.vectors)
        skipped += [Skipped(str(bad.path), bad.reason) for bad in batch.skipped]
        if len(records) >= COMMIT_EVERY:
            yield Vectors.check(np.concatenate(parts)), records, skipped
            parts, records, skipped = [], [], []
    if records or skipped:
        rows = np.concatenate(parts)
        yield Vectors(rows) if not len(rows) else Vectors.check(rows), records, skipped


def _plus(report: AddReport, more: Counts) -> AddReport:
    return replace(
        report,
        added=report.added + more.added,
        replaced=report.replaced + more.replaced,
        unchanged=report.unchanged + more.unchanged,
    )
