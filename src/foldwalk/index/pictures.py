"""Pictures into the index: described batch by batch, each batch one committed change."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL.Image import Image

from foldwalk import descriptors
from foldwalk.core.errors import BadInput, MissingData, UnknownName
from foldwalk.core.vectors import Vectors
from foldwalk.descriptors import Backbone
from foldwalk.index.types import AddReport, Skipped
from foldwalk.stores import Facts, Record, Store
from foldwalk.stores.checks import check_key, check_keys, metadata_text, metadata_texts
from foldwalk.stores.types import Counts

COMMIT_EVERY = 256  # pictures: what a stop can lose
BATCH = 32


def backbone_name(backbone: Any) -> str | None:
    """What the store notes of a backbone; an unknown name is refused before anything is made."""
    if backbone is None:
        return None
    if isinstance(backbone, os.PathLike):
        return str(Path(backbone).absolute())
    if isinstance(backbone, str) and backbone.endswith(".onnx"):
        return str(Path(backbone).absolute())
    if isinstance(backbone, str) and descriptors.is_known(backbone):
        return backbone
    return descriptors.backbone(backbone).name


def load_backbone(given: Any, facts: Facts) -> Backbone:
    """The backbone of an index, refused if its vectors could not be compared with those that are there."""
    wanted = given if given is not None else facts.backbone
    if wanted is None:
        raise BadInput("this index was made of vectors without a backbone; search it by vector or by key.")
    try:
        backbone = descriptors.backbone(wanted)
    except UnknownName:
        raise BadInput(
            f"this index was made with the backbone {wanted!r}, which has to be handed in: "
            f"Index.open(path, backbone=...)."
        ) from None
    if facts.identity is not None and backbone.identity != facts.identity:
        raise BadInput(
            f"this index was described by {facts.identity}, but the backbone is {backbone.identity}; "
            f"use the same, or make a new index."
        )
    return backbone


@dataclass(frozen=True)
class _File:
    path: Path
    record: Record


def add_images(
    store: Store,
    backbone: Backbone,
    paths_or_folder: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    root: str | os.PathLike[str] | None,
    metadata: Mapping[str, Mapping[str, Any]] | None,
    on_bad: str,
) -> AddReport:
    if on_bad not in ("skip", "raise"):
        raise BadInput(f'on_bad must be "skip" or "raise", but it is {on_bad!r}.')
    paths, below = _find(paths_or_folder, root)
    files, report = _look_at(paths, below, metadata)
    with store.writing() as writer:
        known = writer.known(file.record.key for file in files)
        changed, relabelled = [], {}
        for file in files:
            record, old = file.record, known.get(file.record.key)
            if old is None or (record.size, record.mtime) != (old.size, old.mtime):
                changed.append(file)
            elif record.metadata is not None and record.metadata != old.metadata:
                relabelled[record.key] = record.metadata
        writer.relabel(relabelled)
        report = replace(
            report, replaced=len(relabelled), unchanged=len(files) - len(changed) - len(relabelled)
        )
        for vectors, records, skipped in _described(changed, backbone):
            if on_bad == "raise" and (report.skipped or skipped):
                first = (report.skipped or skipped)[0]
                raise BadInput(f"{first.path}: {first.reason}")
            if records:
                report = _plus(report, writer.upsert(vectors, records, backbone.identity))
            report.skipped.extend(skipped)
    if on_bad == "raise" and report.skipped:
        raise BadInput(f"{report.skipped[0].path}: {report.skipped[0].reason}")
    return report


def add_picture(
    store: Store, backbone: Backbone, picture: Image, key: str, metadata: Mapping[str, Any] | None
) -> AddReport:
    text = None if metadata is None else metadata_text(check_key(key), metadata)
    colours = picture.convert("RGB")
    record = Record(check_key(key), text, thumbnail=descriptors.thumbnail(colours))
    vectors = Vectors.check(backbone.embed([colours]), key)
    return AddReport(*store.upsert(vectors, [record], backbone.identity))


def _find(
    paths_or_folder: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    root: str | os.PathLike[str] | None,
) -> tuple[list[Path], Path | None]:
    """The files, and the folder below which their paths become keys."""
    if not isinstance(paths_or_folder, (str, os.PathLike)):
        return [Path(path) for path in paths_or_folder], None if root is None else Path(root)
    place = Path(paths_or_folder)
    if place.is_file():
        return [place], Path(root) if root is not None else place.parent
    if not place.is_dir():
        raise MissingData(f"{place} does not exist.")
    found = descriptors.find_pictures(place)
    if not found:
        raise BadInput(f"{place} holds no pictures.")
    return found, Path(root) if root is not None else place


def _look_at(
    paths: Sequence[Path], root: Path | None, metadata: Mapping[str, Mapping[str, Any]] | None
) -> tuple[list[_File], AddReport]:
    """Every file with its key, size and time; those that cannot be named or looked at are skipped."""
    report = AddReport()
    good, keys, stats = [], [], []
    for path in paths:
        try:
            keys.append(check_key(_key(path, root)))
            stats.append(path.stat())
            good.append(path)
        except OSError as error:
            keys.pop()
            report.skipped.append(Skipped(str(path), f"it cannot be opened: {error.strerror or error}."))
        except BadInput as error:
            report.skipped.append(Skipped(ascii(str(path))[1:-1], str(error)))
    check_keys(keys)
    files = []
    for path, key, stat, text in zip(good, keys, stats, metadata_texts(keys, metadata), strict=True):
        record = Record(key, text, str(path.absolute()), stat.st_size, stat.st_mtime_ns)
        files.append(_File(path, record))
    return files, report


def _key(path: Path, root: Path | None) -> str:
    if root is None:
        return path.as_posix()
    try:
        return path.absolute().relative_to(root.absolute()).as_posix()
    except ValueError:
        raise BadInput(f"{path} does not lie below {root}.") from None


def _described(
    files: Sequence[_File], backbone: Backbone
) -> Iterator[tuple[Vectors, list[Record], list[Skipped]]]:
    """Vectors and records, enough for one commit at a time."""
    by_path = {file.path: file.record for file in files}
    parts: list[np.ndarray] = []
    records: list[Record] = []
    skipped: list[Skipped] = []
    for batch in descriptors.extract([f.path for f in files], backbone, batch=BATCH, thumbnails=True):
        small = batch.thumbnails or []
        records += [
            replace(by_path[path], thumbnail=jpeg) for path, jpeg in zip(batch.paths, small, strict=True)
        ]
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
