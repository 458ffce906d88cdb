"""What SQLite and the system say, as one sentence."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from foldwalk.core.errors import FoldwalkError
from foldwalk.stores.errors import CannotWrite, Damaged


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Around what reads a catalogue."""
    try:
        yield
    except sqlite3.Error as error:
        raise Damaged(f"{path} cannot be read as a catalogue ({error}).") from error


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Around what writes."""
    try:
        yield
    except FoldwalkError:
        raise
    except OSError as error:
        raise CannotWrite(f"{path} cannot be written: {error.strerror or error}; nothing changed.") from error
    except sqlite3.Error as error:
        raise CannotWrite(f"{path}: the catalogue cannot be written ({error}); nothing changed.") from error
