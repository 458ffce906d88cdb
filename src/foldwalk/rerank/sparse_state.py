"""Sparse matrices as plain arrays, for files that hold nothing else."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from foldwalk.core.types import AnyArray

PARTS = ("data", "indices", "indptr", "shape")


def flatten(values: dict[str, Any]) -> dict[str, AnyArray]:
    """Arrays as they are, each sparse matrix as four arrays named ``name.data`` and so on."""
    arrays: dict[str, AnyArray] = {}
    for name, value in values.items():
        if sparse.issparse(value):
            arrays |= {f"{name}.{part}": getattr(value, part) for part in PARTS}
        else:
            arrays[name] = value
    return arrays


def unflatten(arrays: dict[str, AnyArray]) -> dict[str, Any]:
    """The opposite of `flatten`."""
    values: dict[str, Any] = {}
    for name, array in arrays.items():
        if name.endswith(".data"):
            whole = name.removesuffix(".data")
            data, indices, indptr, shape = (arrays[f"{whole}.{part}"] for part in PARTS)
            values[whole] = sparse.csr_array((data, indices, indptr), shape=tuple(int(n) for n in shape))
        elif not name.rpartition(".")[0]:
            values[name] = array
    return values
