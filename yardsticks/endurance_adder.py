"""A second process that adds to a collection through the library: `python endurance_adder.py INDEX`.

It replaces its own keys in turn for as long as its stdin is open, and says which change was acknowledged.
"""

from __future__ import annotations

import select
import sys
from contextlib import suppress

import numpy as np

from foldwalk.index import Index
from foldwalk.stores.errors import Busy

KEYS, PAUSE = 100, 0.2


def main() -> None:
    with Index.open(sys.argv[1]) as index:
        rng = np.random.default_rng(0)
        number = 0
        while not _is_told_to_end():
            key = f"library/{number % KEYS}"
            with suppress(Busy):  # then the same again
                index.add_vectors(rng.random((1, index.dim or 1)), [key], {key: {"number": number}})
                print(key, number, flush=True)
                number += 1


def _is_told_to_end() -> bool:
    return bool(select.select([sys.stdin], [], [], PAUSE)[0])


if __name__ == "__main__":
    main()
