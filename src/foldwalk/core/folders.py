"""Folders that commands fill."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from foldwalk.core.errors import BadInput
from foldwalk.core.whole_files import TEMPORARY


def check_folder(folder: Path) -> None:
    """Refuse what is no folder, or where none can be made or written to, before the work that fills it."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise BadInput(f"{folder} is {'a file' if folder.is_file() else 'no folder'}; name a folder.")
    existing = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    try:
        os.rmdir(tempfile.mkdtemp(dir=existing, prefix=TEMPORARY))  # rights alone do not tell
    except OSError:
        raise BadInput(
            f"{folder} cannot be created: {existing} is not a folder that can be written to."
        ) from None
