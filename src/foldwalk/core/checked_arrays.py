"""Arrays that come from a file, checked for what compiled code relies on: it reads where ids say, unasked.

Each function takes an array as it was read, says in one sentence what is wrong with it, and gives it back
contiguous and of the type that is asked for. A size of None in a shape is any above zero.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foldwalk.core.errors import BadInput
from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray

Shape = tuple[int | None, ...]
# No weight, similarity or feature comes near; three of them multiplied are still finite in float32.
LARGEST = 1e9
ROWS_AT_ONCE = 65_536


def checked_numbers(
    array: AnyArray,
    name: str,
    shape: Shape,
    *,
    low: float = -LARGEST,
    high: float = LARGEST,
    dtype: npt.DTypeLike = np.float32,
    infinite: bool = False,
) -> AnyArray:
    """Floats from low to high; `infinite`: or infinitely far off."""
    _check_kind(array, name, "f", "real numbers")
    _check_shape(array, name, shape)
    with np.errstate(over="ignore"):
        numbers = np.ascontiguousarray(array, dtype=dtype).reshape(array.shape)
    fine = (numbers >= low) & (numbers <= high)
    if infinite:
        fine |= np.isinf(numbers)
    if not fine.all():
        raise BadInput(f"{name} holds {numbers[~fine][0]}, which is not from {low:g} to {high:g}.")
    return numbers


def checked_ids(
    array: AnyArray, name: str, shape: Shape, below: int, *, low: int = 0, dtype: npt.DTypeLike = np.int32
) -> AnyArray:
    """Whole numbers from low to below - 1, compared before a cast could wrap them around."""
    _check_kind(array, name, "iu", "whole numbers")
    _check_shape(array, name, shape)
    if array.size and (array.min() < low or array.max() >= below):
        raise BadInput(
            f"{name} must be from {low} to {below - 1}, but reaches {array.min()} to {array.max()}."
        )
    return np.ascontiguousarray(array, dtype=dtype).reshape(array.shape)


def checked_flags(array: AnyArray, name: str, shape: Shape) -> AnyArray:
    _check_kind(array, name, "b", "true or false")
    _check_shape(array, name, shape)
    return np.ascontiguousarray(array).reshape(array.shape)


def checked_order(array: AnyArray, name: str, n: int, dtype: npt.DTypeLike = np.int32) -> AnyArray:
    """Each number from 0 to n - 1 once."""
    order = checked_ids(array, name, (n,), n, dtype=dtype)
    if (np.bincount(order, minlength=n) != 1).any():
        raise BadInput(f"{name} must hold each number from 0 to {n - 1} once.")
    return order


def checked_rising(array: AnyArray, name: str, *, low: int = 0) -> IntArray:
    """Whole numbers of 64 bits in one dimension, each larger than the one before."""
    rising = checked_ids(array, name, (array.size,), 2**63 - 1, low=low, dtype=np.int64)
    if (rising[1:] <= rising[:-1]).any():
        raise BadInput(f"{name} must rise from entry to entry.")
    return rising


def checked_csr(
    indptr: AnyArray,
    indices: AnyArray,
    data: AnyArray,
    name: str,
    shape: tuple[int, int],
    *,
    low: float = -LARGEST,
    high: float = LARGEST,
    rising: bool = True,
) -> tuple[IntArray, Int32Array, Float32Array]:
    """The three arrays of a CSR matrix of that shape, as kernels take them.

    The columns of a row rise; where they need not (`rising`), none may stand there twice.
    """
    rows, columns = shape
    starts = checked_ids(indptr, f"{name}.indptr", (rows + 1,), 2**62, dtype=np.int64)
    stored = int(starts[-1])
    if starts[0] != 0 or (starts[1:] < starts[:-1]).any():
        raise BadInput(f"{name}.indptr must begin at 0 and never fall.")
    places = checked_ids(indices, f"{name}.indices", (stored,), columns)
    values = checked_numbers(data, f"{name}.data", (stored,), low=low, high=high)
    if not _rises(starts, places):
        row_of = np.repeat(np.arange(rows), np.diff(starts))
        if rising or not _rises(starts, places[np.lexsort((places, row_of))]):
            order = "must rise" if rising else "must differ"
            raise BadInput(f"{name}: the columns of a row {order}.")
    return starts, places, values


def checked_rows(
    ids: AnyArray, similarities: AnyArray, name: str, n: int, width: int
) -> tuple[Int32Array, Float32Array]:
    """Neighbour lists as `Neighbors` promises them; -1 stands at the end of short rows."""
    places = checked_ids(ids, f"{name} ids", (n, width), n, low=-1)
    values = checked_numbers(similarities, f"{name} similarities", (n, width))
    for first in range(0, n, ROWS_AT_ONCE):
        here, alike = places[first : first + ROWS_AT_ONCE], values[first : first + ROWS_AT_ONCE]
        known = here >= 0
        ordered = np.sort(here, axis=1)
        wrong = (known[:, 1:] & ~known[:, :-1]) | (known[:, 1:] & (alike[:, 1:] > alike[:, :-1]))
        wrong |= (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
        own = here == np.arange(first, first + len(here), dtype=np.int32)[:, None]
        if wrong.any() or own.any():
            raise BadInput(f"{name}: a row must list others, each once, the most similar first.")
    return places, values


def checked_scale(value: object) -> float:
    """A unit of vectors: a number above zero."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise BadInput("its scale must be a number above 0.")
    return float(value)


def _rises(indptr: IntArray, indices: Int32Array) -> bool:
    """Whether the columns of each row rise."""
    rising = indices[1:] > indices[:-1]
    first = indptr[1:-1]  # of a row: it follows the last column of another
    rising[first[(first > 0) & (first < len(indices))] - 1] = True
    return bool(rising.all())


def _check_kind(array: AnyArray, name: str, kinds: str, what: str) -> None:
    if array.dtype.kind not in kinds:
        raise BadInput(f"{name} must hold {what}, but its type is {array.dtype}.")


def _check_shape(array: AnyArray, name: str, shape: Shape) -> None:
    fits = array.ndim == len(shape) and all(
        size == wanted or (wanted is None and size) for wanted, size in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = " x ".join("any" if size is None else str(size) for size in shape) or "one number"
        raise BadInput(f"{name} must be {wanted}, but its shape is {array.shape}.")
