"""Memory that is freed and asked for again at every step of a training, kept by the process meanwhile."""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of malloc.h
_LARGEST = 2**31 - 1


def keep_freed_memory() -> bool:
    """Ask the C library not to give large blocks back to the system; says whether it will.

    The GNU library gives them back at once, and the system hands them out again page by page, which took
    half of the time of training a small network. What is kept is about half as much again as is in use.
    """
    try:
        option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library
        return False
    return bool(option(_MMAP_THRESHOLD, 2**30) and option(_TRIM_THRESHOLD, _LARGEST))
