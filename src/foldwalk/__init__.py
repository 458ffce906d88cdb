"""foldwalk: image search that walks the manifold."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foldwalk.index import Index as Index

# Compiled loops and matrix products take turns here. Threads that spin while the other kind works slow both
# down, by half and more on few cores; a setting of the user's own is left alone. OpenBLAS reads its own when
# numpy is first imported (2 ** 4 is the shortest time to spin); programs that import numpy before set it
# themselves, or their workers inherit it.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`foldwalk.Index`, imported when it is first asked for."""
    if name == "Index":
        from foldwalk.index import Index

        return Index
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
