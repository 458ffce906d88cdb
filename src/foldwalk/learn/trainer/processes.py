"""Several processes that train one model, on one machine or many: torchrun tells each its number.

Nothing here imports torch: a command asks before it shows anything.
"""

from __future__ import annotations

import os


def is_main() -> bool:
    """Whether this process is the one that writes files and shows what happens."""
    return os.environ.get("RANK", "0") == "0"


def count() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))
