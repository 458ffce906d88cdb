"""Files of n x n matrices: what is read, and what is refused in one sentence."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

from foldwalk.core import BadInput, MissingData
from foldwalk.core.matrix_files import read_matrix_file


def test_dense_and_sparse_matrices_are_read(tmp_path):
    matrix = np.array([[0.0, 2.0], [3.0, 0.0]])
    np.save(tmp_path / "d.npy", matrix)
    assert np.array_equal(read_matrix_file(tmp_path / "d.npy"), matrix)
    for form in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        sparse.save_npz(tmp_path / "s.npz", form(matrix))
        assert np.array_equal(read_matrix_file(tmp_path / "s.npz").toarray(), matrix)


def test_what_holds_no_matrix_is_refused(tmp_path):
    np.savez(tmp_path / "arrays.npz", distances=np.ones((3, 3)))
    (tmp_path / "broken.npz").write_bytes(b"no archive")
    (tmp_path / "pickled.npz").write_bytes(pickle.dumps([1, 2]))
    for name in ("arrays.npz", "broken.npz", "pickled.npz"):
        with pytest.raises(BadInput, match=f"{name} holds no sparse matrix of scipy.sparse.save_npz"):
            read_matrix_file(tmp_path / name)
    with pytest.raises(BadInput, match=r"must be a .npy file, or a .npz file written by"):
        read_matrix_file(tmp_path / "matrix.csv")
    for name in ("missing.npy", "missing.npz"):
        with pytest.raises(MissingData, match="does not exist"):
            read_matrix_file(tmp_path / name)
