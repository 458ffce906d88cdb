"""The folder that receives what a training writes; it is made when it is needed, and does not stay empty."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def folder_for(folder: Path | None, checkpoint: Path | None) -> Iterator[None]:
    """Make the folder; if the block fails without leaving a checkpoint, what was made is removed again."""
    if folder is None:
        yield
        return
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if folder in new and not (checkpoint is not None and checkpoint.exists()):
            shutil.rmtree(folder)
            with suppress(OSError):  # another program has put something there
                for place in new[1:]:
                    place.rmdir()
        raise
