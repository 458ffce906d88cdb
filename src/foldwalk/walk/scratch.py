"""Work space that is kept between calls: a single query should not pay for clearing n numbers.

A kernel that borrows blank arrays leaves them blank: it sets back what it touched, a few hundred places.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

from foldwalk.core.types import AnyArray

_kept = threading.local()


def blank(shape: tuple[int, ...], value: float, dtype: type[Any]) -> AnyArray:
    """An array of this value; whatever its shape, the calling thread gets the same memory again.

    So it holds for one kernel call, and no two of one value and type may be borrowed at once.
    """
    arrays: dict[str, AnyArray] = _kept.__dict__
    key, size = f"{value} {dtype.__name__}", math.prod(shape)
    array = arrays.get(key)
    if array is None or len(array) < size:
        array = arrays[key] = np.full(size, value, dtype)
    return array[:size].reshape(shape)
