"""What SQLite and the system say, as one sentence."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from foldwalk.core.errors import FoldwalkError
from foldwalk.stores.errors import CannotWrite, Damaged


def damaged(index: Path, what: str) -> Damaged:
    """What is damaged, and how to get it back."""
    return Damaged(
        f"{index} is damaged: {what.rstrip('.')}; mend it with  foldwalk repair {index}  "
        f"or get it back from a backup with  foldwalk restore."
    )


@contextmanager
def read_errors(index: Path) -> Iterator[None]:
    """Around what reads a catalogue."""
    try:
        yield
    except sqlite3.Error as error:
        raise damaged(index, f"its catalog.db cannot be read as a catalogue ({error})") from error


@contextmanager
def write_errors(index: Path, outcome: Callable[[], str]) -> Iterator[None]:
    """Around what writes; `outcome` looks what came of it, and says it."""
    try:
        yield
    except FoldwalkError:
        raise
    except OSError as error:
        raise CannotWrite(f"{index} cannot be written: {error.strerror or error}; {outcome()}.") from error
    except sqlite3.Error as error:
        said = f"{index}: the catalogue cannot be written ({error}); {outcome()}."
        raise CannotWrite(said) from error


def nothing_changed() -> str:
    """Where nothing was written yet."""
    return "nothing changed"
