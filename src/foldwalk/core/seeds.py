"""Randomness with an address: a seed and the name of what it is for, never global state."""

from __future__ import annotations

import zlib

import numpy as np

from foldwalk.core.errors import BadInput


def check_seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**32:
        raise BadInput(f"seed must be a whole number from 0 to 2**32 - 1, but it is {seed!r}.")
    return int(seed)


def generator(seed: int, purpose: str = "") -> np.random.Generator:
    """A generator for one purpose: two purposes of one seed draw independent numbers."""
    return np.random.default_rng([check_seed(seed), zlib.crc32(purpose.encode())])
