"""Parquet, which is optional: pyarrow where it is there, and its columns of lists as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldwalk.core.errors import BadInput, MissingExtra
from foldwalk.core.types import AnyArray


def load_pyarrow() -> tuple[Any, Any]:
    """pyarrow and pyarrow.parquet."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("pyarrow", "stores", "Parquet") from None
    return pyarrow, pyarrow.parquet


def holds_lists(kind: Any) -> bool:
    types = load_pyarrow()[0].types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def holds_numbers(kind: Any) -> bool:
    types = load_pyarrow()[0].types
    return bool(types.is_integer(kind) or types.is_floating(kind))


def rows_of_lists(column: Any, name: str) -> AnyArray:
    """A column of lists of the same length as a 2-D array; `name` is what the error calls it."""
    lists = column.combine_chunks()
    lengths = load_pyarrow()[0].compute.list_value_length(lists).fill_null(0).to_numpy()
    odd = np.flatnonzero(lengths != lengths[:1])
    if len(odd):
        raise BadInput(f"{name}, row {odd[0]} has {lengths[odd[0]]} numbers, but row 0 has {lengths[0]}.")
    flat = lists.flatten()
    if not holds_numbers(flat.type):
        raise BadInput(f"{name} must hold lists of numbers, but it holds lists of {flat.type}.")
    return np.asarray(flat.to_numpy(zero_copy_only=False).reshape(len(lists), -1))


def as_column(values: Any) -> Any:
    """Texts, numbers or rows of numbers as a column."""
    pyarrow, _ = load_pyarrow()
    if isinstance(values, list):
        return pyarrow.array(values, pyarrow.string())
    if values.ndim == 1:
        return pyarrow.array(values)
    return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(values.reshape(-1)), values.shape[1])
