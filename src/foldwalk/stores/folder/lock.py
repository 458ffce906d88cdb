"""One writer at a time, by a lock that the system lets go when its holder dies (POSIX; not on Windows)."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from foldwalk.stores.errors import Busy
from foldwalk.stores.folder.below import opened_file

LOCK = "lock"


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Hold `folder`'s lock file, or say who holds it."""
    with opened_file(folder, LOCK, os.O_RDWR | os.O_CREAT) as file:
        handle = file.fileno()
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 20, 0).decode(errors="replace").strip()
            who = f"process {holder}" if holder.isdecimal() else "another process"
            raise Busy(f"{folder} is being written by {who}; try again when it has finished.") from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
