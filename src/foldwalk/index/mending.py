"""The items that are damaged in a copy of an index: described again from their files, or dropped."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from foldwalk.core.errors import BadInput
from foldwalk.core.vectors import Vectors
from foldwalk.index.backbone import load_backbone
from foldwalk.index.files.disk import same_content
from foldwalk.index.files.looking import File
from foldwalk.index.pictures import described
from foldwalk.index.types import Repair, Skipped
from foldwalk.stores import Damaged, Record, Store
from foldwalk.stores.checks import check_key
from foldwalk.stores.metadata import metadata_of
from foldwalk.stores.types import Lost, Source


def mend(copy: Store, drop: bool, backbone: Any) -> Repair:
    """Everything that can be done about what is damaged; `items` is how many there are then."""
    copy.mend()
    lost = {item.key: item for item in copy.lost()}
    done = Repair(0)
    files = [file for item in lost.values() if (file := _file(item, done)) is not None]
    thumbnails: dict[int, bytes | None] = {}
    while files:
        now = list({file.path: file for file in files}.values())  # a file may have several items
        _describe(copy, now, backbone, lost, thumbnails, done)
        files = [file for file in files if file not in now]
    done.thumbnails.extend(item.key for item in lost.values() if item.number in thumbnails)
    dropped: list[Lost] = []
    if drop:
        dropped = [lost[bad.path] for bad in done.left if lost[bad.path].part != "thumbnail"]
        thumbnails |= {lost[bad.path].number: None for bad in done.left if lost[bad.path] not in dropped}
        done = replace(done, left=[], dropped=[item.key for item in dropped])
    copy.mend([item.number for item in dropped], thumbnails)
    if not done.left:
        copy.compact()
    return replace(done, items=copy.count())


def _describe(
    copy: Store,
    files: Sequence[File],
    backbone: Any,
    lost: dict[str, Lost],
    thumbnails: dict[int, bytes | None],
    done: Repair,
) -> None:
    keys = {str(file.path): file.record.key for file in files}
    model = load_backbone(backbone, copy.facts())
    for vectors, records, skipped in described(files, model):
        again = [i for i, record in enumerate(records) if lost[record.key].part != "thumbnail"]
        thumbnails |= {lost[r.key].number: r.thumbnail for r in records if lost[r.key].part == "thumbnail"}
        if again:
            anew = [records[i] for i in again]
            with copy.writing() as writer:
                writer.delete(record.key for record in anew)
                writer.upsert(Vectors(vectors.values[again]), anew, model.identity)
            done.described.extend(record.key for record in anew)
        done.left.extend(Skipped(keys[bad.path], bad.reason) for bad in skipped)


def _file(item: Lost, done: Repair) -> File | None:
    """The file to describe an item from; where there is none that can be trusted, the item is left."""
    reason, metadata = None, None
    try:
        check_key(item.key)
        metadata_of(item.metadata, item.key)
        metadata = item.metadata
    except Damaged:
        done.notes.append(f"the metadata of {item.key} are lost")
    except BadInput:
        reason = "its key is damaged."
    if type(item.source) is not str:
        reason = reason or "it came without a file."
    elif item.part == "row" and not same_content(_source(item), item.source):
        reason = reason or f"its file {item.source} is gone, or may be another one."
    if reason is None:
        try:
            stat = os.stat(str(item.source))
            record = Record(item.key, metadata, item.source, stat.st_size, stat.st_mtime_ns)
            return File(Path(str(item.source)), record)
        except OSError as error:
            reason = f"its file {item.source} cannot be read: {error.strerror or error}."
    done.left.append(Skipped(item.key, reason))
    return None


def _source(item: Lost) -> Source:
    return Source(item.key, str(item.source), item.size, item.mtime, item.digest)
