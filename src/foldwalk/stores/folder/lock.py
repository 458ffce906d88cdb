"""One writer at a time, by a lock that the system lets go when its holder dies (POSIX; not on Windows)."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from foldwalk.stores.errors import Busy


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Hold `folder`'s lock file, or say who holds it."""
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 20, 0).decode(errors="replace").strip()
            who = f"process {holder}" if holder else "another process"
            raise Busy(f"{folder} is being written by {who}; try again when it has finished.") from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)
