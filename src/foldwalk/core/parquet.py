"""Parquet, which is optional: pyarrow where it is there, and its columns of lists as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foldwalk.core.errors import BadInput, MissingExtra
from foldwalk.core.memory import need_memory
from foldwalk.core.types import AnyArray

# Bytes of a value, by the type that the file has it in, and what a text takes beside its letters.
WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 8}
OF_A_TEXT = 56


def load_pyarrow() -> tuple[Any, Any]:
    """pyarrow and pyarrow.parquet."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("pyarrow", "stores", "Parquet") from None
    return pyarrow, pyarrow.parquet


def read_table(path: Path, columns: Sequence[str] | None = None) -> Any:
    """A table, or these of its columns, refused where what its head declares does not fit into memory.

    A column that repeats one value takes a few bytes in the file, however many rows it has.
    """
    pyarrow, parquet = load_pyarrow()
    with parquet.ParquetFile(path, memory_map=True) as file:
        told, schema = file.metadata, file.schema_arrow
        texts = [name for name in schema.names if _holds_texts(schema.field(name).type)]
        need_memory(_bytes_of(told, columns), str(path))
    wanted = [name for name in texts if columns is None or name in columns]
    table = parquet.read_table(path, columns=columns, read_dictionary=wanted)
    for name in wanted:
        need_memory(_bytes_of_texts(table[name]), f"{path}, column {name}")
    plain = [(name, table[name].type) for name in table.column_names]
    fields = [(name, schema.field(name).type if name in wanted else kind) for name, kind in plain]
    return table.cast(pyarrow.schema(fields)) if wanted else table


def _bytes_of(told: Any, columns: Sequence[str] | None) -> int:
    """What the values of a file take in memory, at the least."""
    total = 0
    for group in range(told.num_row_groups):
        for place in range(told.num_columns):
            chunk = told.row_group(group).column(place)
            if columns is None or chunk.path_in_schema.partition(".")[0] in columns:
                values = chunk.num_values * WIDTHS.get(chunk.physical_type, 4)
                total += max(values, chunk.total_uncompressed_size)
    return total


def _holds_texts(kind: Any) -> bool:
    types = load_pyarrow()[0].types
    return bool(types.is_string(kind) or types.is_binary(kind))


def _bytes_of_texts(column: Any) -> int:
    """Written out, a text that is kept once takes its length for each row, and what Python adds."""
    compute, total = load_pyarrow()[0].compute, len(column) * OF_A_TEXT
    for chunk in column.chunks:
        if hasattr(chunk, "dictionary"):
            lengths = compute.binary_length(chunk.dictionary)
            total += compute.sum(compute.cast(lengths.take(chunk.indices), "int64")).as_py() or 0
    return total


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
