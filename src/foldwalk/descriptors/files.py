"""Where models are kept, and files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def cache_folder() -> Path:
    """FOLDWALK_CACHE, else foldwalk in XDG_CACHE_HOME, else ~/.cache/foldwalk; made when it is not there."""
    own, common = os.environ.get("FOLDWALK_CACHE"), os.environ.get("XDG_CACHE_HOME")
    folder = Path(own) if own else Path(common or Path.home() / ".cache") / "foldwalk"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def written_whole(target: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `target` when the block ends, and vanishes when it fails."""
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".foldwalk-")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(temporary, 0o644)  # mkstemp lets nobody else read
        os.replace(temporary, target)
    finally:
        Path(temporary).unlink(missing_ok=True)
