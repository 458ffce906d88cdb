"""Files that can be made again: arrays written whole or not at all, and read only if they are whole."""

from __future__ import annotations

import time
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from foldwalk.core.types import AnyArray
from foldwalk.core.whole_files import TEMPORARY, written_whole

FORGOTTEN_AFTER = 3600  # seconds: no file takes that long to write


def save_arrays(path: Path, arrays: dict[str, AnyArray]) -> bool:
    """Write a .npz file. A disk that is full or read-only is no reason to fail: says whether it worked."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path.parent)
        with written_whole(path) as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
    except OSError:
        return False
    return True


def load_arrays(path: Path) -> dict[str, AnyArray] | None:
    """The arrays of a .npz file; None if it is absent or damaged (every array carries a checksum)."""
    with (
        suppress(OSError, ValueError, EOFError, zipfile.BadZipFile),
        open(path, "rb") as stream,
        np.load(stream, allow_pickle=False) as file,
    ):
        return {name: file[name] for name in file.files}
    return None


def _sweep(folder: Path) -> None:
    """Remove what processes that were stopped left half-written."""
    for path in folder.glob(f"{TEMPORARY}*"):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < time.time() - FORGOTTEN_AFTER:
                path.unlink()
