"""Files that hold an n x n matrix: .npy as numpy.save writes it, .npz as scipy.sparse.save_npz does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scipy import sparse

from foldwalk.core.array_files import check_npz
from foldwalk.core.errors import BadInput, MissingData, one_line
from foldwalk.core.vector_files import read_vector_file


def read_matrix_file(path: Path) -> Any:
    """A dense array or a sparse matrix, or one sentence why there is none."""
    if path.suffix not in (".npy", ".npz"):
        raise BadInput(f"{path} must be a .npy file, or a .npz file written by scipy.sparse.save_npz.")
    if not path.is_file():
        raise MissingData(f"{path} does not exist or is not a file.")
    if path.suffix == ".npy":
        return read_vector_file(path, ()).vectors
    try:
        check_npz(path)
        matrix = sparse.load_npz(path)  # which opens no pickle
        if matrix.format in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)  # columns, too, which scipy otherwise takes on trust
        return matrix
    except Exception as error:  # broken bytes lead the reader to errors of any kind
        reason = one_line(error)
        raise BadInput(f"{path} holds no sparse matrix of scipy.sparse.save_npz ({reason}).") from None
