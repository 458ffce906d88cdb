"""A copy of an index while others write: one version of it, whole or not at all, checked before it counts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from foldwalk.stores.folder import blocks, rows
from foldwalk.stores.folder.below import opened_file
from foldwalk.stores.folder.connecting import FILE, connect
from foldwalk.stores.folder.errors import damaged, read_errors
from foldwalk.stores.folder.making import made_whole
from foldwalk.stores.folder.state import State
from foldwalk.stores.folder.verify import verify
from foldwalk.stores.types import Checked

BYTES_AT_A_TIME = 2**22


def backup(index: Path, target: Path, replace: bool) -> Checked:
    """Copy the index to a folder that is an index itself; `replace` one that is there."""
    with made_whole(target, replace) as made:
        # First what is derived: it is of the version that is copied then, or of an earlier one, never of one
        # that the copy may come to by other changes.
        for place in _derived(index):
            (made / place).parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # forgotten just now
                _copy_file(index, place, made, None)
        state = _copy_catalog(index, made)
        while not _copy_block(index, state, made):  # it was compacted just now
            state = _copy_catalog(index, made)
        checked = verify(made)
        for problem in checked.problems:
            raise damaged(index, f"{problem.rstrip('.')}, and was not copied")
    return checked


def _copy_catalog(index: Path, made: Path) -> State:
    (made / FILE).unlink(missing_ok=True)
    (made / FILE).touch()
    with read_errors(index), closing(connect(index, "ro")) as source, closing(connect(made, "rw")) as copy:
        source.backup(copy)
        state = State.read(copy)
    with opened_file(made, FILE, os.O_RDWR) as file:
        os.fsync(file.fileno())
    return state


def _copy_block(index: Path, state: State, made: Path) -> bool:
    """The vectors that count; False where they are in another file by now."""
    size = state.rows * (state.dim or 0) * 4
    try:
        if size:
            _copy_file(index, f"{blocks.FOLDER}/{state.block}", made, size)
    except FileNotFoundError:
        with closing(connect(index, "ro")) as db:
            if State.read(db).block == state.block:
                raise damaged(index, f"{blocks.FOLDER}/{state.block} is missing") from None
        return False
    return True


def _copy_file(index: Path, place: str, made: Path, size: int | None) -> None:
    """So many bytes of a file, or all of them."""
    new = os.O_RDWR | os.O_CREAT | os.O_EXCL
    with opened_file(index, place) as source, opened_file(made, place, new) as copy:
        left = os.fstat(source.fileno()).st_size if size is None else size
        while left and (part := source.read(min(left, BYTES_AT_A_TIME))):
            copy.write(part)
            left -= len(part)
        os.fsync(copy.fileno())


def _derived(index: Path) -> Iterator[str]:
    for group in rows.RowFiles(index).groups():
        yield str(rows.place_of(*group))
