"""Sparse matrices with everything that may go wrong in them, and dense forms of what is computed."""

from __future__ import annotations

import numpy as np
from scipy import sparse


def some_rows(
    rows: int, columns: int, density: float = 0.15, seed: int = 0, levels: int = 0
) -> sparse.csr_array:
    """Non-negative CSR rows, some empty, some entries zero; with `levels` few distinct values: many tie."""
    rng = np.random.default_rng(seed)
    there = rng.random((rows, columns)) < density
    there[rng.random(rows) < 0.1] = False
    indptr = np.r_[0, np.cumsum(there.sum(axis=1))]
    indices = np.nonzero(there)[1].astype(np.int32)
    data = rng.random(len(indices)) if not levels else rng.integers(1, levels + 1, size=len(indices)) / levels
    data = np.where(rng.random(len(indices)) < 0.05, 0, data)
    return sparse.csr_array((data.astype(np.float32), indices, indptr), shape=(rows, columns))


def some_transitions(n: int = 60, density: float = 0.1, seed: int = 0, parts: int = 1) -> sparse.csr_array:
    """D^-1/2 W D^-1/2 of a random symmetric W in `parts` pieces, one item isolated."""
    rng = np.random.default_rng(seed)
    w = rng.random((n, n)) * (rng.random((n, n)) < density)
    w = np.maximum(w, w.T)
    block = np.arange(n) * parts // n
    w[block[:, None] != block[None]] = 0
    np.fill_diagonal(w, 0)
    w[n // 2] = w[:, n // 2] = 0
    root = np.sqrt(w.sum(axis=1))
    inverse = np.divide(1, root, out=np.zeros(n), where=root > 0)
    return sparse.csr_array((inverse[:, None] * w * inverse[None]).astype(np.float32))


def resolvent(transitions: sparse.csr_array, alpha: float) -> np.ndarray:
    """(I - alpha S)^-1 in float64."""
    n = transitions.shape[0]
    return np.linalg.inv(np.eye(n) - alpha * transitions.toarray().astype(np.float64))


def largest_of_row(row: np.ndarray, k: int) -> list[int]:
    """The columns of the k largest entries, largest first, ties to the smaller column."""
    return sorted(range(len(row)), key=lambda j: (-row[j], j))[:k]


def cut_rows(dense: np.ndarray, cap: int, threshold: float = 0.0) -> np.ndarray:
    """Each row with its `cap` largest entries above the threshold, zero elsewhere."""
    out = np.zeros_like(dense)
    for i, row in enumerate(dense):
        for j in largest_of_row(row, cap):
            if row[j] > threshold:
                out[i, j] = row[j]
    return out


def check_rows(matrix: sparse.csr_array, cap: int | None = None) -> np.ndarray:
    """The dense form of CSR rows, which must be float32, sorted, unique and no longer than `cap`."""
    assert matrix.format == "csr"
    assert matrix.dtype == np.float32
    for begin, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        assert (np.diff(matrix.indices[begin:end]) > 0).all()
        assert cap is None or end - begin <= cap
    return matrix.toarray()
