"""Where models are kept."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """FOLDWALK_CACHE, else foldwalk in XDG_CACHE_HOME, else ~/.cache/foldwalk; made when it is not there."""
    own, common = os.environ.get("FOLDWALK_CACHE"), os.environ.get("XDG_CACHE_HOME")
    folder = Path(own) if own else Path(common or Path.home() / ".cache") / "foldwalk"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
