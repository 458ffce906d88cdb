"""Vectors in files: what is accepted, what is refused, what comes back as it was."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from foldwalk.core import BadInput, MissingData, MissingExtra
from foldwalk.core.vector_files import NAMES, PARTS, VectorFile, read_vector_file, write_vector_file

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
    file = read_vector_file(path)
    np.testing.assert_array_equal(file.checked().values, X)
    assert f"array {chosen}:" in file.origin


def test_npz_without_a_known_name_lists_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    np.savez(path, first=X, second=X)
    with pytest.raises(BadInput, match="first, second"):
        read_vector_file(path).checked()


def test_npz_that_is_a_npy_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    with open(path, "wb") as file:
        np.save(file, X)
    with pytest.raises(BadInput, match=r"no \.npz archive"):
        read_vector_file(path).checked()


def test_npz_of_objects_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    np.savez(path, x=np.array([[{}]], dtype=object))
    with pytest.raises(BadInput, match="other than an array of numbers"):
        read_vector_file(path).checked()


def test_half_precision_and_integers_become_float32(tmp_path: Path) -> None:
    for dtype in (np.float16, np.int64):
        path = tmp_path / "v.npy"
        np.save(path, X.astype(dtype))
        values = read_vector_file(path).checked().values
        assert values.dtype == np.float32
        np.testing.assert_array_equal(values, X)


def test_read_vectors_can_be_written_to(tmp_path: Path) -> None:
    """They are a copy, not a read-only map of the file, which compiled code would refuse."""
    path = tmp_path / "v.npy"
    np.save(path, X)
    assert read_vector_file(path).checked().values.flags.writeable


@pytest.mark.parametrize("fixed", [False, True])
def test_parquet_with_one_column_of_lists(tmp_path: Path, fixed: bool) -> None:
    kind = pyarrow.list_(pyarrow.float32(), 3) if fixed else pyarrow.list_(pyarrow.float32())
    path = tmp_path / "v.parquet"
    table = pyarrow.table({"name": ["a", "b", "c", "d"], "vector": pyarrow.array(X.tolist(), type=kind)})
    parquet.write_table(table, path)
    file = read_vector_file(path)
    np.testing.assert_array_equal(file.checked().values, X)
    assert "column vector" in file.origin


def test_parquet_with_numeric_columns(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    parquet.write_table(pyarrow.table({f"c{i}": X[:, i] for i in range(3)}), path)
    np.testing.assert_array_equal(read_vector_file(path).checked().values, X)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"name": ["a", "b"], "value": [1.0, 2.0]}, "numeric columns only"),
        ({"vector": [[1.0, 2.0], [1.0]]}, "row 1 has 1 numbers, but row 0 has 2"),
        ({"vector": [[1.0, 2.0], None]}, "row 1 has 0 numbers"),
        ({"vector": [[1.0, None], [1.0, 2.0]]}, "nan"),
        ({"vector": [["a"], ["b"]]}, "lists of numbers, but it holds lists of string"),
    ],
)
def test_parquet_that_holds_no_vectors(tmp_path: Path, columns, expected: str) -> None:
    path = tmp_path / "v.parquet"
    parquet.write_table(pyarrow.table(columns), path)
    with pytest.raises(BadInput, match=expected):
        read_vector_file(path).checked()


def test_parquet_that_is_text(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    path.write_text("no parquet")
    with pytest.raises(BadInput, match="is damaged"):
        read_vector_file(path).checked()


def test_huge_header_is_refused_before_memory_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "v.npy"
    with open(path, "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (10**12, 1000)}
        np.lib.format.write_array_header_1_0(file, header)
        file.write(b"\0" * 64)
    with pytest.raises(BadInput, match="fewer numbers than its head declares"):
        read_vector_file(path).checked()


def test_other_suffix_and_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"must be a \.npy, \.npz or \.parquet file"):
        read_vector_file(tmp_path / "v.txt")
    with pytest.raises(MissingData, match="does not exist"):
        read_vector_file(tmp_path / "v.npy")


WHOLE = VectorFile(
    X,
    keys=["é / ☃", "b", "c", "d"],
    metadata=['{"year": 1990}', "{}", "{}", "{}"],
    labels=np.array(["x", "x", "y", "y"]),
    split=["train", "train", "test", "test"],
    neighbor_ids=np.array([[1], [0], [3], [2]]),
    neighbor_similarities=np.ones((4, 1), np.float32),
)


def same(one: VectorFile, other: VectorFile, but: tuple[str, ...] = ()) -> bool:
    pairs = {part: (getattr(one, part), getattr(other, part)) for part in PARTS if part not in but}
    return all((a is None and b is None) or np.array_equal(a, b) for a, b in pairs.values())


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_what_is_written_is_read_again(tmp_path: Path, suffix: str) -> None:
    path = write_vector_file(tmp_path / f"v{suffix}", WHOLE)
    assert same(read_vector_file(path), WHOLE)
    few = read_vector_file(path, ("keys",))
    assert few.keys == WHOLE.keys
    assert few.labels is few.metadata is few.neighbor_ids is None
    numbered = replace(WHOLE, labels=np.array([1, 1, 2, 2]), keys=None, metadata=None)
    assert same(read_vector_file(write_vector_file(path, numbered)), numbered)


def test_queries_come_back_from_npz_and_other_files_say_what_they_cannot_hold(tmp_path: Path) -> None:
    file = replace(WHOLE, queries=X[:2], query_labels=np.array(["x", "y"]))
    assert same(read_vector_file(write_vector_file(tmp_path / "v.npz", file)), file)
    with pytest.raises(BadInput, match=r"\.parquet file cannot hold queries, query_labels"):
        write_vector_file(tmp_path / "v.parquet", file)
    with pytest.raises(BadInput, match=r"\.npy file cannot hold keys"):
        write_vector_file(tmp_path / "v.npy", WHOLE)
    with pytest.raises(BadInput, match=r"must be a \.npy"):
        write_vector_file(tmp_path / "v.csv", WHOLE)
    with pytest.raises(MissingData, match="not a folder"):
        write_vector_file(tmp_path / "none" / "v.npz", WHOLE)
    assert [path.name for path in tmp_path.iterdir()] == ["v.npz"]


def test_npy_is_mapped_and_written_back(tmp_path: Path) -> None:
    path = write_vector_file(tmp_path / "v.npy", VectorFile(X))
    file = read_vector_file(path)
    assert isinstance(file.vectors, np.memmap)
    assert same(file, VectorFile(X))


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
@pytest.mark.parametrize(("part", "names"), [(part, NAMES[part]) for part in ("vectors", "keys", "labels")])
def test_every_name_is_known_in_every_file(tmp_path: Path, suffix: str, part: str, names) -> None:
    values = {"vectors": X, "keys": np.array(WHOLE.keys), "labels": WHOLE.labels}
    for name in names:
        columns = {(name if other == part else other): value for other, value in values.items()}
        path = tmp_path / f"v{suffix}"
        if suffix == ".npz":
            np.savez(path, other=np.zeros(3), **columns)
        else:
            parquet.write_table(pyarrow.table({n: v.tolist() for n, v in columns.items()}), path)
        assert same(read_vector_file(path), VectorFile(X, WHOLE.keys, labels=WHOLE.labels))


def test_keys_beside_numeric_columns_are_no_numbers_of_the_vectors(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    parquet.write_table(pyarrow.table({"id": [7, 8, 9, 10], "x": X[:, 0], "y": X[:, 1]}), path)
    file = read_vector_file(path)
    assert same(file, VectorFile(X[:, :2], ["7", "8", "9", "10"]))
    assert file.origin == f"{path}, 2 columns: 4 x 2"


def test_queries_alone_are_vectors(tmp_path: Path) -> None:
    np.savez(tmp_path / "q.npz", queries=X)
    assert same(read_vector_file(tmp_path / "q.npz"), VectorFile(X))


def test_vectors_as_columns_are_turned_where_the_queries_tell(tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", X=X.T, Q=X[:2].T)
    assert same(read_vector_file(tmp_path / "v.npz"), VectorFile(X, queries=X[:2]))


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
@pytest.mark.parametrize("part", ["keys", "metadata", "labels", "split"])
def test_too_few_of_a_part(tmp_path: Path, suffix: str, part: str) -> None:
    if suffix == ".parquet":
        columns = {"vector": X.tolist(), part: ["a", "b", None, "d"]}
        parquet.write_table(pyarrow.table(columns), tmp_path / "v.parquet")
    else:
        np.savez(tmp_path / "v.npz", vectors=X, **{part: np.array(["a", "b"])})
    expected = "must be text" if suffix == ".parquet" else f"4 vectors, but 2 {part}"
    with pytest.raises(BadInput, match=expected):
        read_vector_file(tmp_path / f"v{suffix}")
    assert len(read_vector_file(tmp_path / f"v{suffix}", ())) == 4  # whoever wants vectors alone gets them


def test_a_single_number_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.float32(3))
    file = read_vector_file(tmp_path / "v.npy")
    assert len(file) == 0
    with pytest.raises(BadInput, match="2-D"):
        file.checked()


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".parquet"])
def test_a_pickle_is_never_opened(tmp_path: Path, suffix: str) -> None:
    marker = tmp_path / "ran"

    class Evil:
        def __reduce__(self) -> tuple[object, tuple[Path]]:
            return Path.touch, (marker,)

    path = tmp_path / f"v{suffix}"
    path.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(BadInput, match=r"is damaged|never opened|is no .npz archive"):
        read_vector_file(path)
    assert not marker.exists()
    pickle.loads(path.read_bytes())
    assert marker.exists()  # the test can fail


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch) -> None:
    path = write_vector_file(tmp_path / "v.parquet", WHOLE)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for attempt in (lambda: read_vector_file(path), lambda: write_vector_file(tmp_path / "w.parquet", WHOLE)):
        with pytest.raises(MissingExtra, match=r"foldwalk\[stores\]"):
            attempt()
    assert [file.name for file in tmp_path.iterdir()] == ["v.parquet"]
