"""Out to a file and back, and files of other programs."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk.core import BadInput, MissingData
from foldwalk.index import exchange
from foldwalk.index.graph.knn import KnnGraph
from samples import clustered


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_what_is_exported_can_be_imported(index, make_index, tmp_path, suffix, monkeypatch):
    index.add_vectors(np.ones((1, 16)), ["é / ☃"], {"é / ☃": {"tags": ["a", 1, None]}})
    index.remove(["a0"])
    path = index.export(tmp_path / f"out{suffix}")
    other = make_index(name="other.fold")
    monkeypatch.setattr(KnnGraph, "build", None)  # the graph came with the file
    assert other.import_file(path).added == 120
    assert other.keys() == index.keys()
    assert np.allclose(other.vectors(), index.vectors(), atol=1e-6)
    assert other.item("é / ☃").metadata == {"tags": ["a", 1, None]}
    assert (other.neighbors().ids == index.neighbors().ids).all()
    assert other.verify().ok
    assert other.import_file(path).unchanged == 120


def test_neighbours_may_be_left_out(index, tmp_path):
    with np.load(index.export(tmp_path / "out.npz", neighbors=False)) as file:
        assert set(file.files) == {"vectors", "keys", "metadata"}


@pytest.mark.parametrize("wrong", ["others", "outside", "fractions"])
def test_wrong_neighbours_are_not_believed(index, make_index, tmp_path, wrong):
    with np.load(index.export(tmp_path / "out.npz")) as file:
        arrays = dict(file)
    ids = arrays["neighbor_ids"] + {"others": 1, "outside": 60, "fractions": 0.5}[wrong]
    if wrong == "others":
        ids %= 120
        ids[ids == np.arange(120)[:, None]] = -1
    arrays["neighbor_ids"] = ids
    np.savez(tmp_path / "wrong.npz", **arrays)
    other = make_index(name="other.fold")
    other.import_file(tmp_path / "wrong.npz")
    assert (other.neighbors().ids == index.neighbors().ids).all()


def test_bare_arrays_are_named_by_file_and_row(make_index, tmp_path):
    vectors = clustered(n=5, d=4)[0]
    np.save(tmp_path / "cats.npy", vectors)
    np.savez(tmp_path / "dogs.npz", x=vectors, labels=np.arange(5))
    index = make_index()
    index.import_file(tmp_path / "cats.npy")
    index.import_file(tmp_path / "dogs.npz")
    assert index.keys() == [f"cats:{i}" for i in range(5)] + [f"dogs:{i}" for i in range(5)]


def test_parquet_of_another_program(make_index, tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    vectors = clustered(n=5, d=4)[0]
    table = pa.table({"id": [10, 11, 12, 13, 14], "embedding": [row.tolist() for row in vectors]})
    parquet.write_table(table, tmp_path / "other.parquet")
    index = make_index()
    assert index.import_file(tmp_path / "other.parquet").added == 5
    assert index.keys() == ["10", "11", "12", "13", "14"]
    assert np.allclose(index.vectors(), vectors, atol=1e-6)
    ragged = pa.table({"embedding": [[1.0, 2.0], [1.0]]})
    parquet.write_table(ragged, tmp_path / "ragged.parquet")
    with pytest.raises(BadInput, match="row 1 has 1 numbers, but row 0 has 2"):
        index.import_file(tmp_path / "ragged.parquet")


def test_bad_files_are_refused_and_change_nothing(index, make_index, tmp_path):
    np.save(tmp_path / "objects.npy", np.array([{}, {}], dtype=object), allow_pickle=True)
    (tmp_path / "broken.npz").write_bytes(b"PK no")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no")
    np.savez(tmp_path / "two.npz", a=np.ones((2, 16)), b=np.ones((2, 16)))
    np.savez(tmp_path / "meta.npz", vectors=np.ones((2, 16)), metadata=np.array(["{}", "{"]))
    for name in ("objects.npy", "broken.npz", "broken.parquet", "two.npz", "meta.npz", "x.txt"):
        with pytest.raises(BadInput, match=name.split(".")[0]) as caught:
            index.import_file(tmp_path / name)
        assert "\n" not in str(caught.value)
    with pytest.raises(MissingData, match="absent"):
        index.import_file(tmp_path / "absent.npy")
    assert index.version == 1
    for path, words in ((tmp_path / "out.csv", r"\.npz"), (tmp_path / "no" / "out.npz", "not a folder")):
        with pytest.raises((BadInput, MissingData), match=words):
            index.export(path)
    with pytest.raises(BadInput, match="nothing to export"):
        make_index(name="empty.fold").export(tmp_path / "out.npz")


def test_an_export_is_replaced_only_when_asked(index, tmp_path):
    path = tmp_path / "out.npz"
    path.write_bytes(b"mine")
    with pytest.raises(BadInput, match=r"out\.npz exists already; .* replace it with overwrite=True"):
        index.export(path)
    assert path.read_bytes() == b"mine"
    index.export(path, overwrite=True)
    with np.load(path) as file:
        assert len(file["keys"]) == len(index)


def test_a_failed_export_leaves_no_file(index, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(exchange.np, "savez", fail)
    with pytest.raises(OSError, match="No space"):
        index.export(tmp_path / "out.npz")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.fold"]
