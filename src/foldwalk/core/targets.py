"""Where a result goes: refused before the work that makes it, if it could not be written there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from foldwalk.core.errors import BadInput, MissingData
from foldwalk.core.whole_files import TEMPORARY


def check_folder(folder: Path) -> None:
    """A folder to be filled, and made if it is not there."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise BadInput(f"{folder} is {'a file' if folder.is_file() else 'no folder'}; name a folder.")
    existing = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    if not _can_be_written(existing):
        raise BadInput(f"{folder} cannot be created: {existing} is not a folder that can be written to.")


def check_file(path: Path, overwrite: bool, how: str, inputs: Iterable[Path] = ()) -> None:
    """A file to be written, none of the `inputs`; one that is there is replaced only if asked, by `how`."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise MissingData(f"{folder} is not a folder; create it first.")
    if path.exists() and any(source.exists() and path.samefile(source) for source in inputs):
        raise BadInput(f"{path} is one of the inputs; choose another name.")
    if os.path.lexists(path) and not path.is_file():
        raise BadInput(f"{path} is there and is no file; choose another name.")
    if os.path.lexists(path) and not overwrite:
        raise BadInput(f"{path} exists already; choose another name, or replace it with {how}.")
    if not _can_be_written(folder):
        raise BadInput(f"{path} cannot be written: {folder} takes no new files; choose another place.")


def _can_be_written(folder: Path) -> bool:
    """By trying, since rights alone do not tell."""
    try:
        os.rmdir(tempfile.mkdtemp(dir=folder, prefix=TEMPORARY))
    except OSError:
        return False
    return True
