"""Sparse times dense, selected rows and dot products of pairs, with gradients by embedding_bag.

On CPUs embedding_bag takes half the time of a CSR product, and its sums have a fixed order, so that the same
seed gives the same bytes. Gradients are products with the transposed pattern, never scattered additions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch.autograd import Function

from foldwalk.core.types import AnyArray, IntArray

PAIRS_AT_ONCE = 256  # so that they stay in the cache between selection and product


class _Rows:
    """Rows of a sparse matrix as embedding_bag reads them; without values all entries are one."""

    def __init__(self, columns: AnyArray, starts: AnyArray, values: Tensor | None, device: str) -> None:
        self.columns, self.starts, self.values = on(columns, device), on(starts, device), values

    def times(self, dense: Tensor, values: Tensor | None = None) -> Tensor:
        weights = self.values if values is None else values
        return torch.nn.functional.embedding_bag(
            self.columns, dense, self.starts, mode="sum", per_sample_weights=weights
        )


class SparseMatrix:
    """A constant sparse matrix that multiplies dense ones: ``matrix @ dense``."""

    def __init__(
        self, matrix: sparse.csr_array, device: str = "cpu", dtype: torch.dtype = torch.float32
    ) -> None:
        self.forward, self.backward = (
            _Rows(m.indices, m.indptr[:-1], torch.from_numpy(m.data).to(device, dtype), device)
            for m in (matrix, matrix.T.tocsr())
        )

    def __matmul__(self, dense: Tensor) -> Tensor:
        product: Tensor = _Product.apply(dense, self)  # type: ignore[no-untyped-call]
        return product


class _Product(Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, matrix: SparseMatrix) -> Tensor:
        ctx.matrix = matrix
        return matrix.forward.times(dense)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return ctx.matrix.backward.times(gradients[0].contiguous()), None


class Selection:
    """The rows `ids` of a matrix of `count` rows, in any order and as often as they are named."""

    def __init__(self, ids: IntArray, count: int, device: str = "cpu") -> None:
        self.ids = on(ids, device)
        self.backward = _Rows(np.argsort(ids, kind="stable"), _starts(ids, count), None, device)

    def of(self, rows: Tensor) -> Tensor:
        selected: Tensor = _Selected.apply(rows, self)  # type: ignore[no-untyped-call]
        return selected


class _Selected(Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, selection: Selection) -> Tensor:
        ctx.selection = selection
        return rows.index_select(0, selection.ids)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return ctx.selection.backward.times(gradients[0].contiguous()), None


class Pairs:
    """Dot products of the rows first[p] and second[p] of a matrix of `count` rows."""

    def __init__(self, first: IntArray, second: IntArray, count: int, device: str = "cpu") -> None:
        self.first, self.second = on(first, device), on(second, device)
        ends, others = np.concatenate([first, second]), np.concatenate([second, first])
        order = np.argsort(ends, kind="stable")
        self.backward = _Rows(others[order], _starts(ends, count), None, device)
        self.pair_of = on(order % len(first), device)

    def dot(self, rows: Tensor) -> Tensor:
        dots: Tensor = _PairDots.apply(rows, self)  # type: ignore[no-untyped-call]
        return dots


class _PairDots(Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, pairs: Pairs) -> Tensor:
        ctx.pairs = pairs
        ctx.save_for_backward(rows)
        first, second = (torch.split(ends, PAIRS_AT_ONCE) for ends in (pairs.first, pairs.second))
        parts = zip(first, second, strict=True)
        return torch.cat([_dots(rows.index_select(0, a), rows.index_select(0, b)) for a, b in parts])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (rows,) = ctx.saved_tensors
        return ctx.pairs.backward.times(rows, gradients[0].index_select(0, ctx.pairs.pair_of)), None


def _dots(a: Tensor, b: Tensor) -> Tensor:
    return a.mul_(b).sum(dim=1)


def _starts(ends: IntArray, count: int) -> IntArray:
    """Where the entries of each of `count` rows begin, once entries are sorted by row."""
    sizes = np.bincount(ends, minlength=count)
    return np.cumsum(sizes) - sizes


def on(numbers: AnyArray, device: str) -> Tensor:
    """Whole numbers as a tensor on a device."""
    return torch.from_numpy(np.ascontiguousarray(numbers, np.int64)).to(device)
