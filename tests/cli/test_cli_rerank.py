"""``foldwalk rerank``: what it writes, and what it refuses before it starts."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import kneighbors_graph

from foldwalk import rerank
from foldwalk.core import Ranking


def cosine_order(queries: np.ndarray, gallery: np.ndarray, leave_out: bool = False) -> np.ndarray:
    """Ids by falling cosine, from the definition."""
    rows = []
    for q, query in enumerate(queries):
        scores = [query @ item / (np.linalg.norm(query) * np.linalg.norm(item)) for item in gallery]
        order = sorted(range(len(gallery)), key=lambda i: -scores[i])
        rows.append([i for i in order if not (leave_out and i == q)])
    return np.array(rows)


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet"])
@pytest.mark.parametrize("inductive", [False, True])
def test_ranks_queries(foldwalk, vectors, tmp_path: Path, suffix: str, inductive: bool) -> None:
    queries, gallery = vectors
    out = tmp_path / f"ranking{suffix}"
    extra = ["--inductive"] if inductive else []
    result = foldwalk(
        "rerank",
        "--queries",
        queries,
        "--gallery",
        gallery,
        "--method",
        "plain",
        "--out",
        out,
        "--top",
        7,
        *extra,
    )
    assert result.returncode == 0, result.stderr
    expected = cosine_order(np.load(queries), np.load(gallery))[:, :7]
    np.testing.assert_array_equal(Ranking.load(out).ids, expected)


def test_inductive_and_transductive_are_the_library_s_own(foldwalk, vectors, tmp_path: Path) -> None:
    queries, gallery = vectors
    x, y = np.load(queries), np.load(gallery)
    method = rerank.create("manifold_ranking", k=4, seed=3)
    expected = {(): method.rerank(x, y, top=40), ("--inductive",): method.fit(y).rank(x, top=40)}
    assert not np.array_equal(*(ranking.ids for ranking in expected.values()))
    for flags, ranking in expected.items():
        out = tmp_path / "r.npz"
        given = ("--queries", queries, "--gallery", gallery, "--out", out, "--param", "k=4", "--seed", 3)
        assert foldwalk("rerank", "--method", "manifold_ranking", *given, *flags, "--force").returncode == 0
        np.testing.assert_array_equal(Ranking.load(out).ids, ranking.ids)


def test_without_queries_the_gallery_ranks_itself(foldwalk, vectors, tmp_path: Path) -> None:
    _, gallery = vectors
    out = tmp_path / "self.npz"
    result = foldwalk("rerank", "--gallery", gallery, "--method", "plain", "--out", out)
    assert result.returncode == 0, result.stderr
    x = np.load(gallery)
    np.testing.assert_array_equal(Ranking.load(out).ids, cosine_order(x, x, leave_out=True))


def test_parameters_reach_the_method(foldwalk, vectors, tmp_path: Path) -> None:
    _, gallery = vectors
    out = tmp_path / "r.npz"
    result = foldwalk(
        "rerank",
        "--gallery",
        gallery,
        "--method",
        "plain",
        "--out",
        out,
        "--param",
        "metric=euclidean",
        "--json",
    )
    assert json.loads(result.stdout)["parameters"] == {"metric": "euclidean"}
    x = np.load(gallery)
    nearest = [
        int(np.argmin([np.inf if i == j else np.sum((a - b) ** 2) for j, b in enumerate(x)]))
        for i, a in enumerate(x)
    ]
    assert Ranking.load(out).ids[:, 0].tolist() == nearest


def test_json_says_which_array_was_taken(foldwalk, vectors, tmp_path: Path) -> None:
    _, gallery = vectors
    several = tmp_path / "several.npz"
    np.savez(several, labels=np.arange(40), x=np.load(gallery))
    out = tmp_path / "r.npz"
    result = foldwalk("rerank", "--gallery", several, "--method", "plain", "--out", out, "--top", 3, "--json")
    summary = json.loads(result.stdout)
    assert "array x" in summary["gallery"]
    assert (summary["n_gallery"], summary["n_queries"], summary["top"]) == (40, 40, 3)
    np.testing.assert_array_equal(
        Ranking.load(out).ids, cosine_order(np.load(gallery), np.load(gallery), leave_out=True)[:, :3]
    )


def test_the_same_seed_gives_the_same_bytes(foldwalk, vectors, tmp_path: Path) -> None:
    _, gallery = vectors
    contents = []
    for name in ("a.csv", "b.csv"):
        assert (
            foldwalk("rerank", "--gallery", gallery, "--method", "plain", "--out", tmp_path / name).returncode
            == 0
        )
        contents.append((tmp_path / name).read_bytes())
    assert contents[0] == contents[1]


def _nan(folder: Path) -> None:
    bad = np.ones((40, 8))
    bad[3, 2] = np.nan
    np.save(folder / "gallery.npy", bad)


def _inf(folder: Path) -> None:
    bad = np.ones((40, 8))
    bad[3, 2] = np.inf
    np.save(folder / "gallery.npy", bad)


def _one_dimension(folder: Path) -> None:
    np.save(folder / "gallery.npy", np.ones(8))


def _empty(folder: Path) -> None:
    np.save(folder / "gallery.npy", np.ones((0, 8)))


def _other_dimension(folder: Path) -> None:
    np.save(folder / "queries.npy", np.ones((5, 9)))


def _pickle(folder: Path) -> None:
    (folder / "gallery.npy").write_bytes(pickle.dumps(np.ones((40, 8))))


def _objects(folder: Path) -> None:
    np.save(folder / "gallery.npy", np.array([[{}]], dtype=object), allow_pickle=True)


def _truncated(folder: Path) -> None:
    path = folder / "gallery.npy"
    path.write_bytes(path.read_bytes()[:-100])


def _text(folder: Path) -> None:
    (folder / "gallery.npy").write_text("1 2 3\n")


def _missing(folder: Path) -> None:
    (folder / "gallery.npy").unlink()


def _folder_instead(folder: Path) -> None:
    (folder / "gallery.npy").unlink()
    (folder / "gallery.npy").mkdir()


def _nothing(folder: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("spoil", "arguments", "expected"),
    [
        (_nan, [], "row 3, column 2 is nan"),
        (_inf, [], "row 3, column 2 is inf"),
        (_one_dimension, [], "must be 2-D"),
        (_empty, [], "is empty"),
        (_other_dimension, [], "9 dimensions, but 8 were expected"),
        (_pickle, [], "a pickle, which is never opened"),
        (_objects, [], "something other than an array of numbers"),
        (_truncated, [], "fewer numbers than its head declares"),
        (_text, [], "is no .npy file"),
        (_missing, [], "does not exist"),
        (_folder_instead, [], "does not exist or is not a file"),
        (_nothing, ["--method", "plian"], "did you mean plain"),
        (_nothing, ["--param", "metric=manhattan"], "metric"),
        (_nothing, ["--param", "metrik=cosine"], "did you mean metric"),
        (_nothing, ["--param", "k"], "must read name=value"),
        (_nothing, ["--out", "r.txt"], ".npz, .parquet or .csv"),
        (_nothing, ["--out", "nowhere/r.npz"], "nowhere is not a folder"),
        (_nothing, ["--out", "gallery.npz", "--gallery", "gallery.npz"], "does not exist"),
        (_nothing, ["--top", "0"], "--top"),
        (_nothing, ["--method", "manifold_ranking", "--param", "k=40"], "k is 40, but it must be below"),
        (_nothing, ["--method", "manifold_ranking", "--param", "k=0"], "k is 0, but it must be"),
    ],
)
@pytest.mark.usefixtures("vectors")
def test_refuses(foldwalk, tmp_path: Path, spoil, arguments: list[str], expected: str) -> None:
    spoil(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    result = foldwalk(
        "rerank",
        "--queries",
        "queries.npy",
        "--gallery",
        "gallery.npy",
        "--method",
        "plain",
        "--out",
        "r.npz",
        *arguments,
    )
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("foldwalk: ")
    assert result.stderr.count("\n") == 1, result.stderr
    assert expected in result.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_out_must_not_be_an_input(foldwalk, vectors, tmp_path: Path) -> None:
    _, gallery = vectors
    archive = tmp_path / "gallery.npz"
    np.savez(archive, x=np.load(gallery))
    content = archive.read_bytes()
    result = foldwalk("rerank", "--gallery", archive, "--method", "plain", "--out", archive)
    assert result.returncode == 2
    assert "is one of the inputs" in result.stderr
    assert archive.read_bytes() == content


def test_a_ranking_is_replaced_only_when_asked(run, vectors, tmp_path: Path) -> None:
    out = tmp_path / "r.npz"
    line = ("rerank", "--gallery", vectors[1], "--method", "plain", "--out", out)
    out.write_bytes(b"mine")
    code, _, err = run(*line)
    assert (code, out.read_bytes()) == (2, b"mine")
    assert err.endswith("r.npz exists already; choose another name, or replace it with --force.\n")
    assert run(*line, "--force")[0] == 0
    assert len(Ranking.load(out)) == 40


def test_inductive_needs_queries(foldwalk, vectors) -> None:
    result = foldwalk("rerank", "--gallery", vectors[1], "--method", "plain", "--out", "r.npz", "--inductive")
    assert result.returncode == 2
    assert "--inductive needs --queries" in result.stderr


def test_ranks_by_distances_alone(foldwalk, vectors, tmp_path: Path) -> None:
    gallery = np.load(vectors[1]).astype(np.float64)
    distances = np.array([[np.linalg.norm(a - b) for b in gallery] for a in gallery])
    graph = kneighbors_graph(gallery, len(gallery) - 1, mode="distance")
    np.save(tmp_path / "d.npy", distances)
    sparse.save_npz(tmp_path / "g.npz", graph)
    expected = rerank.create("manifold_ranking", k=4).fit(distances=distances).rank_self(top=7)
    for name in ("d.npy", "g.npz"):
        out = tmp_path / "r.npz"
        given = ("--distances", tmp_path / name, "--method", "manifold_ranking", "--param", "k=4", "--top", 7)
        result = foldwalk("rerank", *given, "--out", out, "--json", "--force")
        assert result.returncode == 0, result.stderr
        said = json.loads(result.stdout)
        assert (said["gallery"], said["distances"]) == (None, str(tmp_path / name))
        assert said["n_gallery"] == said["n_queries"] == len(gallery)
        np.testing.assert_array_equal(Ranking.load(out).ids, expected.ids)


def test_bad_distances_are_refused_in_one_line(foldwalk, vectors, tmp_path: Path) -> None:
    queries, _ = vectors
    np.save(tmp_path / "wide.npy", np.ones((3, 4)))
    (tmp_path / "broken.npz").write_bytes(b"no archive")
    out = tmp_path / "r.npz"
    for given, words in (
        ((), "takes --gallery or --distances, one of the two"),
        (("--distances", tmp_path / "wide.npy", "--queries", queries), "goes without --queries"),
        (("--distances", tmp_path / "wide.npy"), "must be a square matrix"),
        (("--distances", tmp_path / "broken.npz"), "holds no sparse matrix of scipy.sparse.save_npz"),
    ):
        result = foldwalk("rerank", *given, "--out", out)
        assert result.returncode == 2, given
        assert words in result.stderr
        assert "Traceback" not in result.stderr
        assert not out.exists()
