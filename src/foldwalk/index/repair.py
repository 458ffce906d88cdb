"""A damaged index made sound: what is lost is described again from its files, in a copy that replaces it.

Nothing is changed in the index itself. It is kept beside the repaired one.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from foldwalk import stores
from foldwalk.core.errors import BadInput
from foldwalk.index.collection import Index
from foldwalk.index.mending import mend
from foldwalk.index.types import Repair
from foldwalk.index.verify import verify
from foldwalk.stores import CannotWrite, Damaged, Store
from foldwalk.stores.registry import PathLike

_ELSE = (
    "nothing was changed; get it back from a backup with  foldwalk restore, or make it anew with  "
    "foldwalk index FOLDER --out NEW.fold."
)


def repair(place: PathLike, drop: bool = False, backbone: Any = None) -> Repair:
    """Describe again what is damaged; with `drop`, remove what cannot be."""
    with closing(_open(place)) as store:
        before = verify(place)
        if before.ok:
            return Repair(before.items)
        folder = Path(os.path.realpath(store.place))
        if not folder.is_dir():
            raise BadInput(f"{place} is no folder; repair it by the means of its database.")
        with store.writing(), _copied(folder) as copy:
            with closing(_open(copy)) as copied:
                done = mend(copied, drop, backbone)
            done = replace(done, problems=_check(copy, rebuild=not done.left))
            if done.items != store.count() - len(done.dropped) or len(done.problems) > len(before.problems):
                raise Damaged(f"{place} cannot be repaired ({before.problems[0].rstrip('.')}); {_ELSE}")
            if done.problems == before.problems:
                return done  # nothing could be done
            return replace(done, kept=_swap(folder, copy))


def _open(place: PathLike) -> Store:
    try:
        store = stores.open(place)
    except Damaged as error:
        said = str(error).split(";")[0].rstrip(".")
        raise Damaged(f"{place} cannot be read, and so not be repaired ({said}); {_ELSE}") from None
    store.forgive()
    return store


@contextmanager
def _copied(folder: Path) -> Iterator[Path]:
    """All of it beside it, as long as the block lasts; links are copied as such, and refused later."""
    copy = folder.parent / f".{folder.name}-{secrets.token_hex(4)}"
    try:
        try:
            shutil.copytree(folder, copy, symlinks=True, ignore=shutil.ignore_patterns("lock", "*-shm"))
        except OSError as error:
            raise CannotWrite(f"{folder} cannot be copied ({error}); nothing was changed.") from None
        yield copy
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _check(copy: Path, rebuild: bool) -> tuple[str, ...]:
    """What is still wrong; where that is the graph alone, it is made again."""
    problems = verify(copy).problems
    if not problems or not rebuild:
        return problems
    try:
        with Index.open(copy) as index:
            index.rebuild()
    except Damaged:
        return problems
    return verify(copy).problems


def _swap(folder: Path, copy: Path) -> str:
    """The copy in the place of the index; says where that is now."""
    names = (f"{folder.name}.damaged{'' if number == 1 else f'-{number}'}" for number in count(1))
    kept = next(path for path in (folder.with_name(name) for name in names) if not os.path.lexists(path))
    os.sync()
    os.rename(folder, kept)
    try:
        os.rename(copy, folder)
    except OSError:
        os.rename(kept, folder)
        raise
    os.sync()
    return str(kept)
