"""What can go wrong with an index on disk, beyond bad input."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from foldwalk.core.errors import BadInput, FoldwalkError


class Busy(FoldwalkError, RuntimeError):
    """Another writer is at work."""


class CannotWrite(FoldwalkError, OSError):
    """The disk is full, read-only or failing; nothing was changed."""


class Damaged(BadInput):
    """A file of the index is missing or does not hold what the catalogue says."""


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """What SQLite says of a catalogue that cannot be read, as one sentence."""
    try:
        yield
    except sqlite3.Error as error:
        raise Damaged(f"{path} cannot be read as a catalogue ({error}).") from error


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn what the system and SQLite say into one sentence."""
    try:
        yield
    except FoldwalkError:
        raise
    except OSError as error:
        raise CannotWrite(f"{path} cannot be written: {error.strerror or error}; nothing changed.") from error
    except sqlite3.Error as error:
        raise CannotWrite(f"{path}: the catalogue cannot be written ({error}); nothing changed.") from error
