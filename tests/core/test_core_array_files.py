"""Small files that declare much: refused before any memory is asked for."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from foldwalk.core import BadInput, Ranking, memory
from foldwalk.core.array_files import check_npz, map_npy, read_head, read_npz
from foldwalk.core.matrix_files import read_matrix_file
from foldwalk.core.memory import available_memory, need_memory
from foldwalk.core.vector_files import read_vector_file
from foldwalk.machine.peak_memory import PeakMemory


def head(shape: tuple[int, ...], kind: str = "<f4") -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": kind, "fortran_order": False, "shape": shape})
    return out.getvalue()


@pytest.mark.parametrize("shape", [(10**9, 0), (10**12, 512), (2**62, 4), (0, 8), (2**63, 2**63)])
def test_a_head_without_numbers_is_refused_in_one_sentence(tmp_path, shape):
    (tmp_path / "x.npy").write_bytes(head(shape))
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("vectors.npy", head(shape))
    for name in ("x.npy", "x.npz"):
        with PeakMemory() as peak, pytest.raises(BadInput, match=f"{name}.*\\.$"):
            read_vector_file(tmp_path / name)
        assert not peak.megabytes > 50


def test_a_compressed_member_larger_than_the_memory_is_refused(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "zeros.npz", vectors=np.zeros((50_000, 100), np.float32))
    assert (tmp_path / "zeros.npz").stat().st_size < 100_000
    assert read_npz(tmp_path / "zeros.npz")["vectors"].shape == (50_000, 100)
    monkeypatch.setattr(memory, "available_memory", lambda: 10**7)
    with pytest.raises(BadInput, match=r"zeros.npz would take 20.0 MB of memory, but 10.0 MB are free\.$"):
        read_vector_file(tmp_path / "zeros.npz")
    assert read_npz(tmp_path / "zeros.npz", ("other",)) == {}


def test_a_member_cannot_be_larger_than_its_bytes_allow(tmp_path):
    path = tmp_path / "lies.npz"
    np.savez_compressed(path, vectors=np.zeros((10, 10), np.float32))
    content = bytearray(path.read_bytes())
    place = content.index(b"PK\x01\x02") + 24  # the size in the list at the end of the archive
    content[place : place + 4] = struct.pack("<I", 2**32 - 2)
    path.write_bytes(content)
    with pytest.raises(ValueError, match="cannot be as large as is declared"):
        check_npz(path)


def test_only_what_numpy_writes_is_decompressed(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("vectors.npy", head((2, 2)) + bytes(16))
    with pytest.raises(BadInput, match="in a way that numpy does not write"):
        read_vector_file(tmp_path / "x.npz")


def test_a_head_nested_too_deep_is_refused(tmp_path):
    text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"-" * 3000 + b"1,), }"
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text)
    with pytest.raises(BadInput, match=r"x.npy is damaged or holds something other"):
        read_vector_file(tmp_path / "x.npy")


@pytest.mark.parametrize("kind", ["<f4", ">f8", "<f2", "|b1", "<i8", "|u1", "<c8", "|S3", "<U5"])
@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 4), (2, 0, 5)])
@pytest.mark.parametrize("by_column", [False, True])
def test_heads_as_numpy_writes_them_need_no_parser(kind, shape, by_column, monkeypatch):
    """CPython 3.11 raises a SystemError where two threads of a service parse at the same moment."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": by_column, "shape": shape})
    file.seek(0)
    monkeypatch.setattr("ast.literal_eval", None)
    assert read_head(file) == (shape, by_column, np.dtype(kind))
    assert not file.read()


def test_heads_of_other_writers_are_read(tmp_path):
    text = b'{"shape": (2,2),"fortran_order":False, "descr":"<f4"}\n'
    (tmp_path / "x.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + np.eye(2, dtype="<f4").tobytes()
    )
    assert np.array_equal(map_npy(tmp_path / "x.npy"), np.eye(2))


def test_a_mapped_file_is_whole(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(4, dtype=np.float32))
    assert np.array_equal(map_npy(tmp_path / "x.npy"), np.eye(4))
    (tmp_path / "x.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-1])
    with pytest.raises(BadInput, match="fewer numbers than its head declares"):
        map_npy(tmp_path / "x.npy")


@pytest.mark.parametrize("column", ["lists", "texts", "numbers"])
def test_a_table_that_repeats_one_value_for_ever_is_refused(tmp_path, column, monkeypatch):
    """In the file a repeated value takes a few bytes."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    n, path = 200_000, tmp_path / "x.parquet"
    columns = {
        "lists": {"vector": pyarrow.array([[0.5] * 20] * n, pyarrow.list_(pyarrow.float32()))},
        "texts": {"vector": pyarrow.array([[0.5]] * 1000), "key": pyarrow.array(["k" * 20_000] * 1000)},
        "numbers": {"a": pyarrow.array(np.zeros(n)), "b": pyarrow.array(np.zeros(n))},
    }[column]
    parquet.write_table(pyarrow.table(columns), path)
    assert path.stat().st_size < 100_000
    monkeypatch.setattr(memory, "available_memory", lambda: 3 * 10**6)
    with pytest.raises(BadInput, match=r"x.parquet.* would take .* of memory"):
        read_vector_file(path)


def test_what_is_free_is_known_and_compared():
    free = available_memory()
    assert free is not None
    assert free > 10**6
    need_memory(1, "nothing")
    with pytest.raises(BadInput, match=r"it would take 1,000,000,000.0 GB of memory"):
        need_memory(10**18, "it")


def test_a_limit_on_the_process_counts():
    """In a process of its own, whose address space is limited."""
    script = (
        "import resource; from foldwalk.core.memory import available_memory as a\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33)); print(a() < 2**33)"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "True"


@pytest.mark.parametrize("part", ["indices", "indptr"])
def test_sparse_matrices_that_lead_out_of_themselves_are_refused(tmp_path, part):
    good = {
        "data": np.ones(2), "indices": np.array([1, 0]), "indptr": np.array([0, 1, 2]),
        "format": np.array(b"csr"), "shape": np.array([2, 2]),
    }  # fmt: skip
    np.savez(tmp_path / "m.npz", **good)
    assert read_matrix_file(tmp_path / "m.npz").nnz == 2
    np.savez(tmp_path / "m.npz", **good | {part: np.array([0, 10**8] if part == "indices" else [0, 5, 2])})
    with pytest.raises(BadInput, match="holds no sparse matrix"):
        read_matrix_file(tmp_path / "m.npz")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("ids", np.array([[0.5, 1.0]])),
        ("ids", np.array([[1j, 2]])),
        ("ids", np.array([[-1, 1]])),
        ("ids", np.array([0, 1])),
        ("scores", np.array([["a", "b"]])),
        ("scores", np.array([[np.nan, 0]])),
        ("scores", np.array(1.0)),
    ],
)
def test_a_ranking_is_checked_when_it_is_read(tmp_path, name, wrong):
    good = {"ids": np.array([[0, 1]]), "scores": np.array([[1.0, 0.5]], np.float32)}
    np.savez(tmp_path / "r.npz", **good)
    assert Ranking.load(tmp_path / "r.npz").ids.tolist() == [[0, 1]]
    np.savez(tmp_path / "r.npz", **good | {name: wrong})
    with pytest.raises(BadInput, match=r"r.npz is not a ranking saved by foldwalk: .*\.$"):
        Ranking.load(tmp_path / "r.npz")
