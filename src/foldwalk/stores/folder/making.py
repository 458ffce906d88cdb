"""A folder of an index made under another name and moved to its place as a whole."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from foldwalk.core.errors import BadInput, MissingData
from foldwalk.stores.folder import blocks, rows
from foldwalk.stores.folder.below import opened_folder
from foldwalk.stores.folder.connecting import FILE
from foldwalk.stores.folder.errors import nothing_changed, write_errors
from foldwalk.stores.folder.lock import LOCK, writer_lock

_OURS = {FILE, f"{FILE}-wal", f"{FILE}-shm", LOCK, blocks.FOLDER, rows.FOLDER}


@contextmanager
def made_whole(target: Path, replace: bool = False) -> Iterator[Path]:
    """A new folder with room for blocks and what is derived, which becomes `target` when the block ends.

    What is there is refused, or replaced if it is an index that nobody writes.
    """
    if os.path.lexists(target) and not replace:
        raise BadInput(f"{target} exists already; open it, or choose another name.")
    parent = target.absolute().parent
    if not parent.is_dir():
        raise MissingData(f"{parent} is not a folder; create it first.")
    if os.path.lexists(target):
        check_is_index(target)
    made = parent / f".{target.name}-{secrets.token_hex(4)}"
    with write_errors(target, nothing_changed):
        try:
            for part in (made, made / blocks.FOLDER, made / rows.FOLDER):
                part.mkdir()
            yield made
            for below in ("", blocks.FOLDER, rows.FOLDER):
                _sync(made, below)
            _move(made, target)
            _sync(parent)
        finally:
            shutil.rmtree(made, ignore_errors=True)


def check_is_index(folder: Path) -> None:
    """Refuse to replace a folder with anything in it that is not an index's."""
    if folder.is_symlink() or not folder.is_dir():
        raise BadInput(f"{folder} is not a folder of an index, and is not replaced.")
    names = set(os.listdir(folder))
    strangers = names - _OURS
    if blocks.FOLDER in names:
        with opened_folder(folder, blocks.FOLDER) as within:
            strangers |= {name for name in os.listdir(within) if not blocks.is_block(name)}
    if FILE not in names or strangers:
        why = f"it holds {min(strangers)!r}" if strangers else f"it has no {FILE}"
        raise BadInput(f"{folder} is not an index ({why}), and is not replaced; choose another name.")


def _move(made: Path, target: Path) -> None:
    if not os.path.lexists(target):
        os.rename(made, target)
        return
    old = made.with_name(f"{made.name}-old")
    with writer_lock(target):
        exchange(made, target, old)
    shutil.rmtree(old, ignore_errors=True)


def exchange(made: Path, target: Path, old: Path) -> None:
    """What was made in the place of what is there, which is called `old` then; or nothing happens."""
    os.rename(target, old)
    try:
        os.rename(made, target)
    except OSError:
        os.rename(old, target)
        raise


def _sync(folder: Path, below: str = "") -> None:
    with opened_folder(folder, below) as handle:
        os.fsync(handle)
