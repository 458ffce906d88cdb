"""An index copied to a folder and back."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from foldwalk import stores
from foldwalk.index.types import Backup
from foldwalk.stores import Store


def backup(store: Store, target: Path, force: bool = False) -> Backup:
    """One version of the collection; with `force` in place of an index that is there."""
    checked = store.backup(target, force)
    return Backup(str(target), checked.items, checked.bytes)


def restore(source: Path, target: Path, force: bool = False) -> Backup:
    """A backup to where the index was, or to another place. The backup stays as it is."""
    with closing(stores.open(source)) as store:
        return backup(store, target, force)
