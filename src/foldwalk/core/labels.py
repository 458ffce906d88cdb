"""Labels as the protocols need them: checked, and as codes that queries and gallery share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foldwalk.core.errors import BadInput
from foldwalk.core.types import AnyArray, Int32Array, IntArray


def check_labels(labels: npt.ArrayLike, name: str) -> AnyArray:
    """One label per item, whole numbers (as int64) or text."""
    array = np.asarray(labels)
    if array.ndim != 1 or not len(array):
        raise BadInput(f"{name} must be a list with one label per item, but its shape is {array.shape}.")
    if array.dtype.kind not in "biuU":
        raise BadInput(
            f"{name} must be whole numbers or text, but their type is {array.dtype}; convert them with "
            "astype(int) or astype(str)."
        )
    return array if array.dtype.kind == "U" else array.astype(np.int64)


def shared_codes(queries: AnyArray, gallery: AnyArray, name: str) -> tuple[Int32Array, Int32Array]:
    """Codes 0, 1, ... for checked labels: equal codes, equal labels."""
    if queries.dtype.kind != gallery.dtype.kind:
        raise BadInput(f"{name}: queries and gallery must both have whole numbers or both have text.")
    codes = np.unique(np.concatenate([queries, gallery]), return_inverse=True)[1].astype(np.int32)
    return codes[: len(queries)], codes[len(queries) :]


def occurrences(codes: Int32Array, within: Int32Array) -> IntArray:
    """How often each of the codes stands in `within`, where -1 stands for no code."""
    return np.bincount(within[within >= 0], minlength=int(codes.max()) + 1)[codes]
