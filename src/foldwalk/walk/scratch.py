"""Work space that is kept between calls: a single query should not pay for clearing n numbers.

A kernel that borrows blank arrays leaves them blank: it sets back what it touched, a few hundred places.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from foldwalk.core.types import AnyArray

_kept = threading.local()


def blank(shape: tuple[int, ...], value: float, dtype: type[Any]) -> AnyArray:
    """An array of this value; the calling thread gets the same one again, so it holds for one kernel call."""
    arrays: dict[str, AnyArray] = _kept.__dict__
    key = f"{value} {dtype.__name__}"
    array = arrays.get(key)
    if array is None or array.shape != shape:
        array = arrays[key] = np.full(shape, value, dtype)
    return array
