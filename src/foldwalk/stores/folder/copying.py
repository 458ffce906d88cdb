"""A copy of an index with all its faults, to be mended and then put in its place."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path

from foldwalk.stores.errors import CannotWrite
from foldwalk.stores.folder.lock import LOCK
from foldwalk.stores.folder.making import exchange
from foldwalk.stores.types import Copy


@contextmanager
def copied(index: Path) -> Iterator[Copy]:
    """Beside the index, as long as the block lasts or until it is put in place; under the writer's lock."""
    folder = Path(os.path.realpath(index))
    copy = folder.parent / f".{folder.name}-{secrets.token_hex(4)}"
    try:
        try:
            # Links are copied as such, and refused when the copy is opened.
            shutil.copytree(folder, copy, symlinks=True, ignore=shutil.ignore_patterns(LOCK, "*-shm"))
        except OSError as error:
            raise CannotWrite(f"{index} cannot be copied ({error}); nothing was changed.") from None
        yield Copy(str(copy), partial(_put_in_place, folder, copy))
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _put_in_place(folder: Path, copy: Path) -> str:
    """The index as it was is kept; says where."""
    names = (f"{folder.name}.damaged{'' if number == 1 else f'-{number}'}" for number in count(1))
    kept = next(path for path in map(folder.with_name, names) if not os.path.lexists(path))
    os.sync()
    exchange(copy, folder, kept)
    os.sync()
    return str(kept)
