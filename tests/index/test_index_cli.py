"""The commands of the index, from the arguments to what is printed."""

from __future__ import annotations

import json
from unittest.mock import Mock

import numpy as np
import pytest
from PIL import Image

from foldwalk.cli.search import parse_where
from foldwalk.core import BadInput
from foldwalk.index import CannotWrite, Index
from foldwalk.index.asking import fitted
from foldwalk.stores.folder.writing import FolderWriter
from samples import clustered


@pytest.fixture
def collection(run, tmp_path):
    """x.fold: 60 vectors, keys v:0 to v:59."""
    np.save(tmp_path / "v.npy", clustered(n=60, d=8)[0])
    code, out, _ = run("index", "v.npy", "--out", "x.fold")
    assert code == 0
    assert "60 added, 60 items in all" in out
    return tmp_path / "x.fold"


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for i in range(6):
        Image.new("RGB", (20, 20), (40 * i, 255 - 40 * i, 90)).save(folder / f"{i}.png")
    (folder / "broken.png").write_bytes(b"broken")
    return folder


def test_vectors_from_nothing_to_an_answer(run, collection, tmp_path):
    code, out, _ = run("search", "x.fold", "v:3", "--top", "4", "--json")
    answer = json.loads(out)["results"][0]
    assert code == 0
    assert answer["query"] == "v:3"
    with Index.open(collection) as opened:
        assert [hit["key"] for hit in answer["hits"]] == [h.key for h in opened.search("v:3", top=4).hits]
    np.save(tmp_path / "q.npy", clustered(n=2, d=8, seed=1)[0])
    code, out, _ = run("search", "x.fold", "q.npy", "--method", "plain", "--json")
    assert [result["query"] for result in json.loads(out)["results"]] == ["q.npy:0", "q.npy:1"]
    code, out, _ = run("search", "x.fold", "v:3", "--method", "cas", "--param", "cluster_k=10", "--fold")
    assert code == 0
    assert "v:" in out


@pytest.mark.usefixtures("collection")
def test_what_a_method_did_is_said(run, monkeypatch):
    monkeypatch.setattr(fitted, "SAVED_FROM", 2)
    _, out, _ = run("search", "x.fold", "v:3", "--method", "auto", "--json")
    note = json.loads(out)["results"][0]["note"]
    assert "view" in note
    _, out, _ = run("search", "x.fold", "v:3", "--method", "auto")
    assert note in " ".join(out.split())
    _, out, _ = run("explain", "x.fold", "v:3", "v:9", "--method", "auto")
    assert out.splitlines()[-1] == f"auto: {note}"
    _, out, _ = run("explain", "x.fold", "v:3", "v:9")  # by the usual method, which has a name as well
    assert out.splitlines()[-1] == f"auto: {note}"
    _, out, _ = run("explain", "x.fold", "v:3", "v:9", "--method", "auto", "--json")
    assert json.loads(out)["note"] == note
    _, out, _ = run("info", "x.fold")
    assert f"auto: {note}" in out.splitlines()
    assert "views w25, w50 learned from 60 items." in out.splitlines()
    run("remove", "x.fold", *(f"v:{i}" for i in range(20)))
    _, out, _ = run("info", "x.fold")
    assert "; 0 came and 20 went since, so the next fit learns anew." in out
    _, out, _ = run("info", "x.fold", "--json")
    assert json.loads(out)["views"][0]["due"] is True


@pytest.mark.usefixtures("collection")
def test_examples_join_the_query(run):
    _, out, _ = run("search", "x.fold", "--like", "v:3", "--like", "v:9", "--unlike", "v:1", "--json")
    (result,) = json.loads(out)["results"]
    assert result["query"] == "like v:3, like v:9, unlike v:1"
    assert not {"v:3", "v:9", "v:1"} & {hit["key"] for hit in result["hits"]}
    _, out, _ = run("search", "x.fold", "v:3", "--like", "v:9", "--unlike", "v:1", "--json")
    assert json.loads(out)["results"][0]["hits"] == result["hits"]


@pytest.mark.usefixtures("photos")
def test_pictures_with_metadata(run, tmp_path):
    known = {f"{i}.png": {"year": 1990 + i, "place": "Oslo" if i < 3 else "Bergen"} for i in range(6)}
    (tmp_path / "known.json").write_text(json.dumps(known))
    code, out, err = run("index", "photos", "--backbone", "pixels", "--metadata", "known.json", "--json")
    assert code == 0
    report = json.loads(out)
    assert (report["index"], report["added"], report["items"]) == ("photos.fold", 6, 6)
    assert [bad["path"] for bad in report["skipped"]] == ["photos/broken.png"]
    assert "left out" in err
    code, out, _ = run(
        "search", "photos.fold", "photos/2.png", "--method", "plain", "--json",
        "--where", "place=Oslo", "--where", "year=1991..",
    )  # fmt: skip
    assert [hit["key"] for hit in json.loads(out)["results"][0]["hits"]] == ["1.png", "2.png"]
    (tmp_path / "known.csv").write_text("key,year,note\n2.png,2000,\n")
    code, out, _ = run("index", "photos", "--metadata", "known.csv")
    assert "1 replaced, 5 unchanged, 1 left out" in out
    with Index.open("photos.fold") as opened:
        assert opened.item("2.png").metadata == {"year": 2000}


@pytest.mark.usefixtures("photos")
def test_odd_values_of_a_table_are_text(run, tmp_path):
    odd = "-" * 30_000 + "1"
    (tmp_path / "known.csv").write_text(f"\ufeffkey,depth,note\n1.png,{odd},-\n2.png,1e999,−5\n3.png,,\n")
    code, _, err = run("index", "photos", "--backbone", "pixels", "--metadata", "known.csv")
    assert code == 0, err
    with Index.open("photos.fold") as opened:
        assert opened.item("1.png").metadata == {"depth": odd, "note": "-"}
        assert opened.item("2.png").metadata == {"depth": "1e999", "note": "−5"}
        assert opened.item("3.png").metadata == {}


@pytest.mark.usefixtures("photos")
@pytest.mark.parametrize("error", [MemoryError, OSError, KeyboardInterrupt])
def test_an_index_that_came_to_nothing_is_not_left_behind(run, tmp_path, monkeypatch, error):
    monkeypatch.setattr("foldwalk.descriptors.extract", Mock(side_effect=error))
    code, _, _ = run("index", "photos", "--backbone", "pixels")
    assert code != 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["photos"]


@pytest.mark.usefixtures("photos")
def test_what_was_committed_before_a_failure_is_kept(run, monkeypatch):
    monkeypatch.setattr("foldwalk.index.pictures.COMMIT_EVERY", 2)
    monkeypatch.setattr("foldwalk.index.pictures.BATCH", 2)
    put_items = FolderWriter.put_items
    failing = Mock(side_effect=[put_items, CannotWrite("the disk is full.")])

    def second_fails(*arguments):
        return failing()(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(FolderWriter, "put_items", second_fails)
        assert run("index", "photos", "--backbone", "pixels")[0] == 2
    code, out, _ = run("index", "photos")
    assert (code, "4 added, 2 unchanged" in out) == (0, True)


def test_a_folder_that_changed(run, photos):
    run("index", "photos", "--backbone", "pixels")
    (photos / "0.png").rename(photos / "zero.png")
    (photos / "1.png").unlink()
    code, out, err = run("index", "photos")
    assert (code, "0 added, 4 unchanged, 1 moved, 1 vanished, 1 left out, 6 items" in out) == (0, True)
    assert err.splitlines()[:2] == ["moved: 0.png is now zero.png", "vanished: 1.png"]
    assert "--prune" in err
    code, out, err = run("index", "photos", "--prune", "--json")
    report = json.loads(out)
    assert (report["vanished"], report["removed"], report["items"]) == (["1.png"], 1, 5)
    assert report["roots"] == {"": str(photos)}
    assert err.startswith("removed: 1.png")


def test_a_second_folder_is_told(run, photos, tmp_path):
    run("index", "photos", "--backbone", "pixels")
    (tmp_path / "more").mkdir()
    (photos / "3.png").rename(tmp_path / "more" / "0.png")
    Image.effect_noise((8, 8), 50).save(tmp_path / "more" / "1.png")
    code, out, err = run("add", "photos.fold", "more/")
    assert (code, "1 added, 1 moved, 7 items" in out) == (0, True)
    assert "the keys of more begin with more/" in err
    _, out, _ = run("add", "photos.fold", "more", "--json")
    report = json.loads(out)
    assert (report["unchanged"], report["roots"]) == (2, {"more/": str(tmp_path / "more")})


def test_sync(run, photos, tmp_path):
    run("index", "photos", "--backbone", "pixels")
    (photos / "0.png").rename(photos / "zero.png")
    (photos / "1.png").unlink()
    code, out, err = run("sync", "photos.fold")
    assert (code, "0 added, 4 unchanged, 1 moved, 1 removed, 1 left out, 5 items" in out) == (0, True)
    assert "removed: 1.png" in err
    photos.rename(tmp_path / ".unplugged")
    code, out, err = run("sync", "photos.fold", "--json")
    report = json.loads(out)
    assert (code, report["items"], report["removed"]) == (0, 5, 0)
    assert report["notes"] == [f"{photos} is not there; what the index has of it stays"]
    assert err.strip() == ""
    photos.mkdir()
    assert "--force" in run("sync", "photos.fold")[2]
    code, out, _ = run("sync", "photos.fold", "--force")
    assert (code, "5 removed, 0 items" in out) == (0, True)


@pytest.mark.usefixtures("collection")
def test_add_remove_and_the_rest(run, tmp_path):
    np.savez(tmp_path / "w.npz", vectors=clustered(n=3, d=8, seed=2)[0], keys=np.array(["x", "y", "z"]))
    code, out, _ = run("add", "x.fold", "w.npz")
    assert (code, "3 added" in out) == (0, True)
    code, out, _ = run("remove", "x.fold", "x", "v:0", "--json")
    assert json.loads(out) == {"index": "x.fold", "removed": 2, "items": 61}
    code, out, _ = run("explain", "x.fold", "y", "z")
    assert code == 0
    assert out.strip().endswith(".")
    code, out, _ = run("explain", "x.fold", "y", "z", "--json")
    assert json.loads(out)["steps"][0] == {"key": "y", "similarity": None}
    code, out, _ = run("info", "x.fold", "--json")
    assert json.loads(out)["items"] == 61
    code, out, _ = run("info", "x.fold")
    assert "61 items of 8 dimensions" in out
    code, out, _ = run("rebuild", "x.fold")
    assert (code, "rebuilt, 61 items" in out) == (0, True)
    code, out, _ = run("verify", "x.fold")
    assert (code, "all is well" in out) == (0, True)
    (tmp_path / "out.parquet").write_bytes(b"mine")
    code, _, err = run("export", "x.fold", "out.parquet", "--no-neighbors")
    assert (code, "replace it with --force" in err) == (2, True)
    assert (tmp_path / "out.parquet").read_bytes() == b"mine"
    code, out, _ = run("export", "x.fold", "out.parquet", "--no-neighbors", "--force")
    assert (code, out) == (0, "out.parquet: 61 items\n")
    code, out, _ = run("index", "out.parquet", "--json")
    assert json.loads(out)["added"] == 61


@pytest.mark.usefixtures("collection")
def test_running_index_again_goes_on(run):
    code, out, _ = run("index", "v.npy", "--out", "x.fold")
    assert code == 0
    assert "0 added, 60 unchanged" in out
    code, _, err = run("index", "v.npy", "--out", "x.fold", "--metric", "euclidean")
    assert code == 2
    assert "leave out these options" in err


def test_verify_ends_with_one_where_something_is_wrong(run, collection):
    with open(collection / "blocks" / "000001.f32", "r+b") as file:
        file.write(b"\0\0\0\0")
    code, out, _ = run("verify", "x.fold", "--json")
    assert code == 1
    assert "checksum" in json.loads(out)["problems"][0]


@pytest.mark.parametrize(
    "arguments",
    [
        ("index", "absent"),
        ("index", "v.npy", "--out", "y.fold", "--metric", "hamming"),
        ("index", "v.npy", "--out", "y.fold", "--backbone", "resnet1"),
        ("index", "empty", "--out", "y.fold", "--backbone", "pixels"),
        ("index", "bad.npy", "--out", "y.fold"),
        ("index", "v.npy", "--out", "x.fold", "--prune"),
        ("add", "x.fold", "bad.npy"),
        ("add", "absent.fold", "v.npy"),
        ("add", "empty", "v.npy"),
        ("sync", "x.fold"),
        ("sync", "x.fold", "absent"),
        ("sync", "absent.fold"),
        ("remove", "x.fold", "nobody"),
        ("search", "x.fold"),
        ("search", "x.fold", "nobody"),
        ("search", "x.fold", "v:1", "--method", "nothing"),
        ("search", "x.fold", "v:1", "--param", "cluster_k=0"),
        ("search", "x.fold", "v:1", "--where", "year"),
        ("search", "x.fold", "v:1", "--top", "0"),
        ("explain", "x.fold", "v:1", "v:1"),
        ("explain", "x.fold", "v.npy", "v:1"),
        ("verify", "empty"),
        ("export", "x.fold", "out.csv"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(run, collection, tmp_path, arguments):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY broken")
    before = sorted(tmp_path.iterdir())
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("foldwalk: ")
    assert err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before
    with Index.open(collection) as opened:
        assert opened.version == 1


def test_conditions_of_the_command_line():
    found = parse_where(["place=Oslo", "year=1990", "year=1991", "size=1.5..3", "name=..m"])
    assert found == {
        "place": ["Oslo", "Oslo"],
        "year": ["1990", 1990, "1991", 1991],
        "size": {"min": 1.5, "max": 3},
        "name": {"max": "m"},
    }
    for bad in (["x"], ["=1"], ["x="], ["x=1", "x=1..2"], ["x=1..2", "x=1"]):
        with pytest.raises(BadInput, match="--where"):
            parse_where(bad)
