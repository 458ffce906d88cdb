"""Rankings: what they promise, and files that are whole, safe to read and give back what was put in."""

from __future__ import annotations

import os
import pickle
import random
import stat
import sys
import zipfile

import numpy as np
import pytest

from foldwalk.core import BadInput, MissingData, MissingExtra, Ranking

FORMATS = [".npz", ".csv", ".parquet"]


def example(queries: int = 3, width: int = 4, seed: int = 0) -> Ranking:
    rng = np.random.default_rng(seed)
    ids = np.array([rng.permutation(50)[:width] for _ in range(queries)])
    scores = -np.sort(-rng.normal(size=(queries, width)), axis=1)
    return Ranking(ids, scores)


def same(a: Ranking, b: Ranking) -> bool:
    return np.array_equal(a.ids, b.ids) and np.array_equal(a.scores, b.scores)


def test_holds_contiguous_int64_and_float32():
    ranking = Ranking([[2, 0], [1, 2]], np.array([[1, 0.5], [3, 3]], np.float64, order="F"))
    assert (ranking.ids.dtype, ranking.scores.dtype) == (np.int64, np.float32)
    assert ranking.ids.flags.c_contiguous
    assert ranking.scores.flags.c_contiguous
    assert len(ranking) == 2


@pytest.mark.parametrize("shape", [(0, 5), (4, 0), (0, 0)])
def test_may_be_empty(shape):
    assert len(Ranking(np.zeros(shape), np.zeros(shape))) == shape[0]


def test_equal_and_infinite_scores_are_an_order():
    Ranking([[1, 2, 3, 4]], [[np.inf, 1, 1, -np.inf]])


@pytest.mark.parametrize(
    ("ids", "scores", "word"),
    [
        ([1, 2], [1, 0], "2-D"),
        ([[1, 2]], [[1]], "alike"),
        ([[1, 2], [3, 4]], [[1, 0], [0, 1]], "rise"),
        ([[1, 2]], [[1, np.nan]], "NaN"),
        ([[1, 2]], [[np.nan, 1]], "NaN"),
        ([[1], [2]], [[1], [np.nan]], "NaN"),
        ([[1, -1]], [[1, 0]], "negative"),
        ([[1, 2], [3, 3]], [[1, 0], [1, 0]], "twice"),
        ([[3, 1, 3]], [[2, 1, 0]], "twice"),
    ],
)
def test_refuses_what_is_no_total_order(ids, scores, word):
    with pytest.raises(BadInput, match=word):
        Ranking(ids, scores)


def test_top():
    ranking = example(width=4)
    assert same(ranking.top(2), Ranking(ranking.ids[:, :2], ranking.scores[:, :2]))
    assert same(ranking.top(4), ranking)
    assert same(ranking.top(99), ranking)
    for k in (0, -1):
        with pytest.raises(BadInput, match=f"at least 1, but it is {k}"):
            ranking.top(k)


def test_as_dict():
    ranking = Ranking([[2, 0], [1, 2]], [[1, 0.5], [3, 2]])
    assert ranking.as_dict() == {0: [(2, 1.0), (0, 0.5)], 1: [(1, 3.0), (2, 2.0)]}
    named = ranking.as_dict(keys=["a", "b", "c"], query_keys=("x", "y"))
    assert named == {"x": [("c", 1.0), ("a", 0.5)], "y": [("b", 3.0), ("c", 2.0)]}
    by_array = ranking.as_dict(keys=np.array(["a", "b", "c"]))
    assert by_array == {0: [("c", 1.0), ("a", 0.5)], 1: [("b", 3.0), ("c", 2.0)]}
    assert all(type(i) is int and type(s) is float for row in ranking.as_dict().values() for i, s in row)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(("queries", "width"), [(3, 4), (1, 1), (1, 7), (7, 1)])
def test_round_trip(tmp_path, suffix, queries, width):
    ranking = example(queries, width)
    path = ranking.save(tmp_path / f"ranking{suffix}")
    loaded = Ranking.load(str(path))
    assert same(ranking, loaded)
    assert (loaded.ids.dtype, loaded.scores.dtype) == (np.int64, np.float32)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", FORMATS)
def test_round_trip_of_numbers_at_the_edge(tmp_path, suffix):
    """Ids that no float64 can hold, the smallest and the largest scores, infinities."""
    ids = [[2**53 + 1, 2**63 - 1, 0, 7, 2**62 + 3, 5]]
    ranking = Ranking(ids, [[np.inf, 3.4e38, 0.1, 1e-45, -0.0, -np.inf]])
    loaded = Ranking.load(ranking.save(tmp_path / f"edge{suffix}"))
    assert loaded.ids.tolist() == ids
    assert loaded.scores.tobytes() == ranking.scores.tobytes()


def test_an_empty_ranking_is_saved_as_arrays(tmp_path):
    empty = Ranking(np.zeros((0, 3)), np.zeros((0, 3)))
    assert Ranking.load(empty.save(tmp_path / "empty.npz")).ids.shape == (0, 3)
    with pytest.raises(BadInput, match="no rows"):
        Ranking.load(empty.save(tmp_path / "empty.csv"))


def test_csv_and_parquet_are_long_tables(tmp_path):
    ranking = Ranking([[2, 0], [1, 2]], [[1, 0.5], [3, 2]])
    lines = ranking.save(tmp_path / "r.csv").read_text().split()
    assert lines == ["query,position,id,score", "0,0,2,1.0", "0,1,0,0.5", "1,0,1,3.0", "1,1,2,2.0"]
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(ranking.save(tmp_path / "r.parquet"))
    assert table.to_pydict() == {
        "query": [0, 0, 1, 1],
        "position": [0, 1, 0, 1],
        "id": [2, 0, 1, 2],
        "score": [1.0, 0.5, 3.0, 2.0],
    }


def test_the_order_of_a_tables_rows_does_not_matter(tmp_path):
    ranking = example()
    head, *lines = ranking.save(tmp_path / "r.csv").read_text().splitlines()
    random.Random(0).shuffle(lines)
    (tmp_path / "r.csv").write_text("\n".join([head, *lines]))
    assert same(Ranking.load(tmp_path / "r.csv"), ranking)


@pytest.mark.skipif(os.name != "posix", reason="permissions of another kind")
def test_others_may_read_what_was_saved(tmp_path):
    path = example().save(tmp_path / "r.npz")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, suffix):
    old = example(seed=1)
    path = old.save(tmp_path / f"r{suffix}")

    def half_a_file(_, file):
        file.write(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(Ranking, f"_write_{suffix[1:]}", half_a_file)
    with pytest.raises(OSError, match="no space left"):
        example(seed=2).save(path)
    with pytest.raises(OSError, match="no space left"):
        example(seed=2).save(tmp_path / f"new{suffix}")
    assert os.listdir(tmp_path) == [path.name]
    assert same(Ranking.load(path), old)


def test_saving_replaces(tmp_path):
    example(seed=1).save(tmp_path / "r.npz")
    new = example(seed=2)
    assert same(Ranking.load(new.save(tmp_path / "r.npz")), new)


def test_names_and_places_that_cannot_be(tmp_path):
    ranking = example()
    for name in ("r.json", "r", "r.npy"):
        with pytest.raises(BadInput, match=r"\.npz, \.parquet or \.csv"):
            ranking.save(tmp_path / name)
        with pytest.raises(BadInput, match=r"\.npz, \.parquet or \.csv"):
            Ranking.load(tmp_path / name)
    with pytest.raises(MissingData, match="is not a folder"):
        ranking.save(tmp_path / "absent" / "r.npz")
    with pytest.raises(MissingData, match="does not exist"):
        Ranking.load(tmp_path / "absent.npz")
    assert os.listdir(tmp_path) == []


def refusal(path) -> str:
    with pytest.raises(BadInput) as caught:
        Ranking.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path} is not a ranking saved by foldwalk: ")
    assert message.endswith(".")
    assert not message.endswith("..")
    return message


class Trap:
    """Unpickling this would leave a file behind."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return (os.mkdir, (self.path,))


def test_nothing_is_ever_unpickled(tmp_path):
    sprung = tmp_path / "sprung"
    (tmp_path / "pickle.npz").write_bytes(pickle.dumps(Trap(sprung)))
    trapped = np.array([[Trap(sprung)]], dtype=object)
    np.savez(tmp_path / "objects.npz", ids=trapped, scores=np.ones((1, 1)))
    for name in ("pickle.npz", "objects.npz"):
        refusal(tmp_path / name)
        assert not sprung.exists()


def test_refuses_arrays_that_are_no_ranking(tmp_path):
    path = tmp_path / "r.npz"
    with open(path, "wb") as file:
        np.save(file, np.arange(3))
    refusal(path)
    np.savez(path, ids=np.ones((1, 1), int))
    assert "scores" in refusal(path)
    np.savez(path, ids=np.array([["a"]]), scores=np.ones((1, 1)))
    refusal(path)
    np.savez(path, ids=[[1, 1]], scores=[[1.0, 0.0]])
    assert "twice" in refusal(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("ids.npy", b"nothing")
    refusal(path)


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["query,position,id,score"],
        ["query,position,id", "0,0,1"],
        ["query,position,id,score", "0,0,1"],
        ["query,position,id,score", "0,0,1,"],
        ["query,position,id,score", "0,0,one,1"],
        ["query,position,id,score", "0,0,1.5,1"],
        ["query,position,id,score", "0,0,nan,1"],
        ["query,position,id,score", "0,0,99999999999999999999,1"],
        ["query,position,id,score", "0,0,1,1", "0,1,2,2"],
        ["query,position,id,score", "0,0,1,1", "0,1,1,0"],
        ["query,position,id,score", "-1,0,1,1", "0,0,2,1"],
        ["query,position,id,score", "-2,0,1,1", "-1,0,2,1"],
        ["query,position,id,score", "1000000000000,0,1,1"],
        ["query,position,id,score", "0,0,1,1", "0,0,2,1"],
        ["query,position,id,score", "0,0,1,4", "0,1,2,3", "0,2,3,2", "1,0,4,1"],
        ["query,position,id,score", "0,0,1,4", "0,1,2,3", "0,2,3,2", "1,1,4,1"],
        ["query,position,id,score", "0,0,1,4", "2,0,2,3"],
        ["query,position,id,score", "0,0," + "1" * 200_000 + ",1"],
    ],
)
def test_refuses_tables_that_are_no_ranking(tmp_path, lines):
    (tmp_path / "r.csv").write_text("\n".join(lines))
    refusal(tmp_path / "r.csv")


def test_a_table_cut_between_two_rows_is_refused(tmp_path):
    """Three queries of four, without the last three rows: nine rows, which would also make three of three."""
    path = Ranking([[0, 1, 2, 3]] * 3, [[1, 1, 1, 1]] * 3).save(tmp_path / "r.csv")
    path.write_text("\n".join(path.read_text().splitlines()[:-3]))
    refusal(path)


@pytest.mark.parametrize("suffix", FORMATS)
def test_garbage_is_refused(tmp_path, suffix):
    path = tmp_path / f"r{suffix}"
    for content in (
        b"",
        b"\0" * 100,
        b"PK\x03\x04",
        b"PAR1PAR1",
        random.Random(0).randbytes(1000),
        b"\xff\xfe",
    ):
        path.write_bytes(content)
        refusal(path)


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_a_file_cut_anywhere_is_refused(tmp_path, suffix):
    whole = example().save(tmp_path / f"whole{suffix}").read_bytes()
    cut = tmp_path / f"cut{suffix}"
    for length in range(0, len(whole), 23):
        cut.write_bytes(whole[:length])
        refusal(cut)


@pytest.mark.parametrize("suffix", FORMATS)
def test_changed_bytes_are_refused_or_do_no_harm(tmp_path, suffix):
    """Whatever a byte does to the file, the reader's own errors never come through."""
    whole = example().save(tmp_path / f"whole{suffix}").read_bytes()
    path = tmp_path / f"changed{suffix}"
    rng = random.Random(0)
    refused = 0
    for _ in range(200):
        changed = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        path.write_bytes(changed)
        try:
            Ranking.load(path)
        except BadInput:
            refused += 1
    assert refused > 20


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    ranking = example()
    path = tmp_path / "r.parquet"
    path.write_bytes(b"anything")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"foldwalk\[stores\]"):
        ranking.save(tmp_path / "new.parquet")
    with pytest.raises(MissingExtra, match=r"foldwalk\[stores\]"):
        Ranking.load(path)
    assert os.listdir(tmp_path) == ["r.parquet"]
