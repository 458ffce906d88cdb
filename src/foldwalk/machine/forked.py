"""A process that was forked from one whose kernels had run: GNU's OpenMP ends it at its first kernel.

Where the kernels run on OpenMP, which they do unless TBB is installed, such a process is told so instead.
"""

from __future__ import annotations

import os

from numba.np.ufunc.parallel import threading_layer

from foldwalk.core.errors import Forked

_after_kernels = False


def _note() -> None:
    global _after_kernels
    try:
        _after_kernels = threading_layer() == "omp"  # type: ignore[no-untyped-call]
    except ValueError:  # no kernel has run yet
        _after_kernels = False


os.register_at_fork(after_in_child=_note)


def refuse_forked() -> None:
    """Raise where this process is such a one."""
    if _after_kernels:
        raise Forked(
            "this process was forked from one that had searched already, and cannot search itself: start "
            "it by spawn, or fork before the first search."
        )
