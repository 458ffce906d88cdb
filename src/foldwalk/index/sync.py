"""Folders as they are now: what came is added, what moved renamed, what is gone removed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from foldwalk import descriptors
from foldwalk.core.errors import BadInput, MissingData
from foldwalk.descriptors import Backbone
from foldwalk.index.files.finding import Found, PathLike
from foldwalk.index.files.roots import rest_below
from foldwalk.index.pictures import take_up
from foldwalk.index.types import AddReport
from foldwalk.stores import Store

Leave = Callable[[Path], bool]


def sync(
    store: Store,
    backbone: Backbone,
    folders: Iterable[PathLike] | None = None,
    force: bool = False,
    leave: Leave | None = None,
) -> AddReport:
    """All known folders, or those that are named; one that is missing or empty loses nothing.

    With `force` an empty one does. Pictures that `leave` tells are passed over this time; then nothing is
    removed either, for they may be what became of others.
    """
    finds: list[Found] = []
    notes: list[str] = []
    waiting = False
    for folder in _outermost(folders_of(store, folders)):
        paths = descriptors.find_pictures(folder) if folder.is_dir() else []
        if not folder.is_dir():
            notes.append(f"{folder} is not there; what the index has of it stays")
        elif not paths and not force:
            notes.append(f"{folder} holds no pictures; what the index has of it stays, --force removes it")
        else:
            ready = [path for path in paths if leave is None or not leave(path)]
            finds.append(Found(ready, folder))
            waiting |= len(ready) < len(paths)
    report = take_up(store, backbone, finds, prune=not waiting, force=force, digests=True)
    vanished = [] if waiting else report.vanished
    return replace(report, vanished=vanished, notes=notes + report.notes)


def folders_of(store: Store, named: Iterable[PathLike] | None) -> list[Path]:
    """The folders that are named, else all that the index knows."""
    known = list(store.roots().values())
    folders = [Path(folder) for folder in named or known]
    if not folders:
        raise BadInput(f"{store.place} knows no folders yet; name them: foldwalk sync X.fold FOLDER...")
    for folder in folders:
        is_known = any(rest_below(os.path.abspath(folder), root) is not None for root in known)
        if not folder.is_dir() and not is_known:
            raise MissingData(f"{folder} is not a folder.")
    return folders


def _outermost(folders: Iterable[Path]) -> list[Path]:
    """Without those that lie in others, as far as these are there: they are looked at with them."""
    there = {os.path.realpath(folder): folder for folder in folders}
    present = [real for real, folder in there.items() if folder.is_dir()]
    return [
        folder
        for real, folder in there.items()
        if not folder.is_dir() or not any(rest_below(real, other) for other in present)
    ]
