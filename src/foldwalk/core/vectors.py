"""Vectors that were checked once, so that no later stage has to check again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from foldwalk.core.errors import BadInput
from foldwalk.core.types import BoolArray, Float32Array, IntArray


@dataclass(frozen=True, eq=False)
class Vectors:
    """n vectors of d numbers: finite, float32, C-contiguous. Zero rows are allowed.

    `scale` is what 1 stands for: the Euclidean metric brings vectors to a unit of their own
    (`foldwalk.neighbors.prepare`), and a query that is compared with them must be in the same.
    """

    values: Float32Array
    scale: float = 1.0

    @classmethod
    def check(
        cls, array: npt.ArrayLike, name: str = "vectors", dim: int | None = None, owned: bool = False
    ) -> Vectors:
        """Turn anything array-like into checked vectors, or say in one sentence why it cannot be done.

        The values may be the caller's own memory, unless they are to be `owned`: then they stay as they are
        when the caller's array changes.

        >>> Vectors.check([[3, 4], [0, 0]]).unit().values.tolist()
        [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
        """
        if sparse.issparse(array):
            raise BadInput(f"{name} is a sparse matrix, but vectors are dense: pass {name}.toarray().")
        if getattr(array, "is_sparse", False) or getattr(array, "is_sparse_csr", False):
            raise BadInput(f"{name} is a sparse tensor, but vectors are dense: pass {name}.to_dense().")
        raw = read_array(array, name)
        if raw.dtype.kind not in "fiub":
            raise BadInput(
                f"{name} must hold real numbers, but its type is {raw.dtype}; pass a 2-D array of floats."
            )
        if raw.ndim != 2:
            hint = "; pass x[None, :] for one vector" if raw.ndim == 1 else ""
            raise BadInput(f"{name} must be 2-D (items x dimensions), but it has shape {raw.shape}{hint}.")
        if raw.shape[0] == 0 or raw.shape[1] == 0:
            raise BadInput(f"{name} is empty (shape {raw.shape}); pass at least one vector.")
        if dim is not None and raw.shape[1] != dim:
            raise BadInput(f"{name} has {raw.shape[1]} dimensions, but {dim} were expected.")
        masked = _masked(array)
        if masked is not None:
            row, column = masked
            raise BadInput(f"{name}, row {row}, column {column} is masked; remove or fill that row.")
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.ascontiguousarray(raw, dtype=np.float32)
        _refuse_non_finite(values, raw, name)
        if owned and not isinstance(array, (list, tuple)) and np.may_share_memory(values, raw):
            values = values.copy()
        return cls(values)

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def dim(self) -> int:
        """How many numbers each vector has."""
        return int(self.values.shape[1])

    @cached_property
    def zero_rows(self) -> BoolArray:
        """True where every number of the row is zero: such a row has no direction."""
        return np.asarray(~self.values.any(axis=1))

    def unit(self) -> Vectors:
        """Every row scaled to length one; zero rows stay zero."""
        out = np.empty_like(self.values)
        for start in range(0, len(self), 65_536):
            block = self.values[start : start + 65_536].astype(np.float64)
            # Scaling by the largest entry first keeps squares of huge and of tiny numbers in range.
            largest = np.abs(block).max(axis=1, keepdims=True)
            block /= np.where(largest == 0, 1, largest)
            length = np.sqrt(np.einsum("ij,ij->i", block, block))[:, None]
            out[start : start + 65_536] = block / np.where(length == 0, 1, length)
        return Vectors(out)


def read_array(array: npt.ArrayLike, name: str) -> npt.NDArray:
    """An array of any shape as numpy reads it, or one sentence why it cannot be read.

    Tensors leave their graph and their device. Columns of a table that may lack a value, which numpy reads
    as objects, and numbers of 16 or 8 bits that it does not know (bfloat16) become floats, without loss.
    """
    try:
        raw = np.asarray(_as_numpy_takes_it(array))
        columns = getattr(array, "dtypes", ()) if raw.dtype.kind == "O" and raw.ndim == 2 else ()
        if len(columns) and all(getattr(column, "kind", "O") in "fiub" for column in columns):
            return np.asarray(array.to_numpy(dtype=np.float64, na_value=np.nan))  # type: ignore[union-attr]
        return raw.astype(np.float32) if raw.dtype.name.startswith(("bfloat", "float8")) else raw
    except (ValueError, TypeError, RuntimeError) as error:  # RuntimeError: a tensor that will not convert
        raise BadInput(f"{name} cannot be read as an array: {error}.") from None


def _as_numpy_takes_it(array: Any) -> Any:
    """Known by what they can do, for torch may not be there, and importing it takes seconds."""
    if isinstance(array, (list, tuple)):
        return [_as_numpy_takes_it(row) for row in array] if any(map(_is_tensor, array)) else array
    if not _is_tensor(array):
        return array
    here = array.detach().cpu()
    return here.float() if str(here.dtype).startswith(("torch.bfloat", "torch.float8")) else here


def _is_tensor(array: Any) -> bool:
    return hasattr(array, "detach") and hasattr(array, "cpu")


def _masked(array: Any) -> IntArray | None:
    """The first place that is masked, in an array or in a list of rows, whose masks numpy would drop."""
    if isinstance(array, (list, tuple)) and any(isinstance(row, np.ma.MaskedArray) for row in array):
        array = np.ma.stack(array)
    if not isinstance(array, np.ma.MaskedArray):
        return None
    places = np.argwhere(np.ma.getmaskarray(array))
    return places[0] if len(places) else None


def _refuse_non_finite(values: Float32Array, raw: npt.NDArray, name: str) -> None:
    for start in range(0, len(values), 65_536):
        finite = np.isfinite(values[start : start + 65_536])
        if finite.all():
            continue
        row, column = (int(i) for i in np.argwhere(~finite)[0])
        row += start
        bad = raw[row, column]
        reason = f"is {bad}" if not np.isfinite(bad) else f"is {bad}, too large for float32"
        raise BadInput(f"{name}, row {row}, column {column} {reason}; remove or repair that row.")
