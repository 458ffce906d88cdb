"""Files written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

TEMPORARY = ".foldwalk-"


@contextmanager
def written_whole(target: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `target` when the block ends, and vanishes when it fails."""
    handle, temporary = tempfile.mkstemp(dir=target.absolute().parent, prefix=TEMPORARY)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(temporary, 0o644)  # mkstemp lets nobody else read
        os.replace(temporary, target)
    finally:
        Path(temporary).unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    with written_whole(path) as file:
        file.write(content)
