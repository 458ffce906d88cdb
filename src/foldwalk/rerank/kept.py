"""What fitting computed, on its way to a file and back: every array is asked for with what it must be.

A method never sees an array of its saved state as it stood in the file: `_restore` is handed a `Kept`, and
each of its functions checks before it gives. What nobody asked for is refused, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from foldwalk.core.checked_arrays import (
    LARGEST,
    checked_csr,
    checked_flags,
    checked_ids,
    checked_numbers,
    checked_order,
)
from foldwalk.core.errors import BadInput
from foldwalk.core.types import AnyArray, IntArray
from foldwalk.walk.csr import csr

PARTS = ("data", "indices", "indptr", "shape")


def flatten(values: Mapping[str, Any]) -> dict[str, AnyArray]:
    """Arrays as they are, each sparse matrix as four arrays named ``name.data`` and so on."""
    arrays: dict[str, AnyArray] = {}
    for name, value in values.items():
        if sparse.issparse(value):
            arrays |= {f"{name}.{part}": np.asarray(getattr(value, part)) for part in PARTS}
        else:
            arrays[name] = value
    return arrays


class Kept:
    """The arrays that `flatten` made, given out one by one."""

    def __init__(
        self, arrays: Mapping[str, AnyArray], prefix: str = "", asked: set[str] | None = None
    ) -> None:
        self._arrays, self._prefix = arrays, prefix
        self._asked: set[str] = set() if asked is None else asked

    def names(self) -> set[str]:
        """Of arrays, and of sparse matrices of which all parts are there."""
        found = {name.removeprefix(self._prefix) for name in self._arrays if name.startswith(self._prefix)}
        whole = {name.removesuffix(".data") for name in found if name.endswith(".data")}
        whole = {name for name in whole if {f"{name}.{part}" for part in PARTS} <= found}
        return whole | (found - {f"{name}.{part}" for name in whole for part in PARTS})

    def under(self, prefix: str) -> Kept:
        """Those whose names begin so, by the rest of their names."""
        return Kept(self._arrays, self._prefix + prefix, self._asked)

    def numbers(
        self,
        name: str,
        *shape: int | None,
        low: float = -LARGEST,
        high: float = LARGEST,
        dtype: npt.DTypeLike = np.float32,
        infinite: bool = False,
    ) -> AnyArray:
        array = self._array(name)
        name = self._prefix + name
        return checked_numbers(array, name, shape, low=low, high=high, dtype=dtype, infinite=infinite)

    def number(self, name: str, low: float = -LARGEST, high: float = LARGEST) -> float:
        return float(self.numbers(name, low=low, high=high, dtype=np.float64))

    def whole_number(self, name: str, low: int, high: int) -> int:
        return int(checked_ids(self._array(name), name, (), high + 1, low=low, dtype=np.int64))

    def flag(self, name: str) -> bool:
        return bool(checked_flags(self._array(name), name, ()))

    def order(self, name: str, n: int, dtype: npt.DTypeLike = np.int32) -> AnyArray:
        return checked_order(self._array(name), name, n, dtype)

    def ids(self, name: str, *shape: int | None, below: int, low: int = 0) -> IntArray:
        return checked_ids(self._array(name), name, shape, below, low=low, dtype=np.int64)

    def rows(self, name: str, rows: int, columns: int, *, rising: bool = True) -> sparse.csr_array:
        """A sparse matrix, the columns of each row rising unless they need not."""
        data, indices, indptr, shape = (self._array(f"{name}.{part}") for part in PARTS)
        if checked_ids(shape, f"{name}.shape", (2,), 2**62, dtype=np.int64).tolist() != [rows, columns]:
            raise BadInput(f"{name} must be {rows} x {columns}, but it is {shape[0]} x {shape[1]}.")
        parts = checked_csr(indptr, indices, data, name, (rows, columns), rising=rising)
        return csr(*parts, columns)

    def like(self, arrays: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
        """Arrays with the names, shapes and types of these."""
        return {name: self.numbers(name, *array.shape, dtype=array.dtype) for name, array in arrays.items()}

    def handed_on(self) -> dict[str, AnyArray]:
        """All of it as it stood, for the `adopt` of another method, which checks it in its turn."""
        mine = [name for name in self._arrays if name.startswith(self._prefix)]
        self._asked |= set(mine)
        return {name.removeprefix(self._prefix): self._arrays[name] for name in mine}

    def refuse_others(self) -> None:
        """What nobody asked for does not belong there."""
        others = sorted(set(self._arrays) - self._asked)
        if others:
            raise BadInput(f"{others[0]} does not belong to it.")

    def _array(self, name: str) -> AnyArray:
        self._asked.add(self._prefix + name)
        if self._prefix + name not in self._arrays:
            raise BadInput(f"{self._prefix + name} is missing.")
        return np.asarray(self._arrays[self._prefix + name])
