"""Vectors out of the files users have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from foldwalk.cli.vectors_io import read_vectors
from foldwalk.core import BadInput, MissingData

X = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.mark.parametrize(
    ("arrays", "chosen"),
    [
        ({"anything": X}, "anything"),
        ({"labels": np.arange(4), "x": X}, "x"),
        ({"labels": np.arange(4), "vectors": X}, "vectors"),
        ({"features": X, "labels": np.arange(4)}, "features"),
        ({"features": -X, "x": X}, "x"),
    ],
)
def test_npz_takes_the_only_array_or_the_one_of_a_known_name(tmp_path: Path, arrays, chosen: str) -> None:
    path = tmp_path / "v.npz"
    np.savez(path, **arrays)
    source = read_vectors(path, "gallery")
    np.testing.assert_array_equal(source.vectors.values, X)
    assert f"array {chosen}:" in source.origin


def test_npz_without_a_known_name_lists_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    np.savez(path, first=X, second=X)
    with pytest.raises(BadInput, match="first, second"):
        read_vectors(path, "gallery")


def test_npz_that_is_a_npy_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    with open(path, "wb") as file:
        np.save(file, X)
    with pytest.raises(BadInput, match=r"no \.npz archive"):
        read_vectors(path, "gallery")


def test_npz_of_objects_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    np.savez(path, x=np.array([[{}]], dtype=object))
    with pytest.raises(BadInput, match="other than an array of numbers"):
        read_vectors(path, "gallery")


def test_half_precision_and_integers_become_float32(tmp_path: Path) -> None:
    for dtype in (np.float16, np.int64):
        path = tmp_path / "v.npy"
        np.save(path, X.astype(dtype))
        values = read_vectors(path, "gallery").vectors.values
        assert values.dtype == np.float32
        np.testing.assert_array_equal(values, X)


def test_read_vectors_can_be_written_to(tmp_path: Path) -> None:
    """They are a copy, not a read-only map of the file, which compiled code would refuse."""
    path = tmp_path / "v.npy"
    np.save(path, X)
    assert read_vectors(path, "gallery").vectors.values.flags.writeable


@pytest.mark.parametrize("fixed", [False, True])
def test_parquet_with_one_column_of_lists(tmp_path: Path, fixed: bool) -> None:
    kind = pyarrow.list_(pyarrow.float32(), 3) if fixed else pyarrow.list_(pyarrow.float32())
    path = tmp_path / "v.parquet"
    table = pyarrow.table({"name": ["a", "b", "c", "d"], "vector": pyarrow.array(X.tolist(), type=kind)})
    parquet.write_table(table, path)
    source = read_vectors(path, "gallery")
    np.testing.assert_array_equal(source.vectors.values, X)
    assert "column vector" in source.origin


def test_parquet_with_numeric_columns(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    parquet.write_table(pyarrow.table({f"c{i}": X[:, i] for i in range(3)}), path)
    np.testing.assert_array_equal(read_vectors(path, "gallery").vectors.values, X)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"name": ["a", "b"], "value": [1.0, 2.0]}, "numeric columns only"),
        ({"vector": [[1.0, 2.0], [1.0]]}, "row 1 has 1 numbers, but row 0 has 2"),
        ({"vector": [[1.0, 2.0], None]}, "row 1 has 0 numbers"),
        ({"vector": [[1.0, None], [1.0, 2.0]]}, "nan"),
        ({"vector": [["a"], ["b"]]}, "other than an array of numbers"),
    ],
)
def test_parquet_that_holds_no_vectors(tmp_path: Path, columns, expected: str) -> None:
    path = tmp_path / "v.parquet"
    parquet.write_table(pyarrow.table(columns), path)
    with pytest.raises(BadInput, match=expected):
        read_vectors(path, "gallery")


def test_parquet_that_is_text(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    path.write_text("no parquet")
    with pytest.raises(BadInput, match="is damaged"):
        read_vectors(path, "gallery")


def test_huge_header_is_refused_before_memory_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "v.npy"
    with open(path, "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (10**12, 1000)}
        np.lib.format.write_array_header_1_0(file, header)
        file.write(b"\0" * 64)
    with pytest.raises(BadInput, match="greater than file size"):
        read_vectors(path, "gallery")


def test_other_suffix_and_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"must be a \.npy, \.npz or \.parquet file"):
        read_vectors(tmp_path / "v.txt", "gallery")
    with pytest.raises(MissingData, match="does not exist"):
        read_vectors(tmp_path / "v.npy", "gallery")
