"""What ``foldwalk export`` writes, every other command reads, with keys, metadata and labels kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from foldwalk import Index
from foldwalk.cli.main import app
from foldwalk.core import Ranking
from foldwalk.core.vector_files import read_vector_file, write_vector_file
from samples import clustered

GALLERY, LABELS = clustered()
KEYS = [f"été/{row:03} ☃" for row in range(len(GALLERY))]
METADATA = {key: {"Straße": row, "tags": ["ä", None]} for row, key in enumerate(KEYS)}
SUFFIXES = (".npz", ".parquet")


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with whole.npz and whole.parquet, exported from a collection with its neighbours."""
    folder = tmp_path_factory.mktemp("exported")
    with Index.create(folder / "x.fold", backbone=None) as index:
        index.add_vectors(GALLERY, KEYS, METADATA)
    for suffix in SUFFIXES:
        run("export", folder / "x.fold", folder / f"whole{suffix}")
    return folder


def labelled(path: Path, target: Path) -> Path:
    return write_vector_file(target, replace(read_vector_file(path), labels=np.asarray(LABELS)))


def mean_precision(path: Path) -> float:
    """mAP of plain search within a file, by the commands."""
    ranking = path.with_suffix(".ranking.npz")
    run("rerank", "--gallery", path, "--method", "plain", "--top", len(GALLERY) - 1, "--out", ranking)
    said = json.loads(run("evaluate", "--dataset", path, "--ranking", ranking, "--json"))
    return float(said["figures"]["mAP"])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_rerank(exported: Path, tmp_path: Path, suffix: str) -> None:
    path, out = exported / f"whole{suffix}", tmp_path / "r.npz"
    run("rerank", "--gallery", path, "--queries", path, "--method", "plain", "--top", 1, "--out", out)
    assert Ranking.load(out).ids.ravel().tolist() == list(range(len(GALLERY)))


@pytest.mark.parametrize("command", ["index", "add"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_index_and_add(exported: Path, tmp_path: Path, suffix: str, command: str) -> None:
    path, other = exported / f"whole{suffix}", tmp_path / "other.fold"
    if command == "index":
        run("index", path, "--out", other)
    else:
        Index.create(other, backbone=None).close()
        run("add", other, path)
    with Index.open(other) as index:
        assert index.keys() == KEYS
        assert [index.item(key).metadata for key in KEYS] == list(METADATA.values())
        assert np.allclose(index.vectors(), GALLERY, atol=1e-6)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_search(exported: Path, suffix: str) -> None:
    path = exported / f"whole{suffix}"
    said = json.loads(run("search", exported / "x.fold", path, "--method", "plain", "--top", 1, "--json"))
    assert [answer["query"] for answer in said["results"]] == [f"{path}:{key}" for key in KEYS]
    assert [answer["hits"][0]["key"] for answer in said["results"]] == KEYS


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_evaluate(exported: Path, tmp_path: Path, suffix: str) -> None:
    path = exported / f"whole{suffix}"
    without = CliRunner().invoke(app, ["evaluate", "--dataset", str(path), "--methods", "plain"])
    assert "holds no labels, so nothing can be measured on it" in str(without.exception)
    assert mean_precision(labelled(path, tmp_path / f"whole{suffix}")) > 0.9


@pytest.mark.parametrize("with_labels", [False, True])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_train_gradnet(exported: Path, tmp_path: Path, suffix: str, with_labels: bool) -> None:
    pytest.importorskip("torch")
    path, out = exported / f"whole{suffix}", tmp_path / "learned"
    if with_labels:
        path = labelled(path, tmp_path / f"labelled{suffix}")
    small = ("--epochs", 1, "--param", "layer_sizes=512,128,64", "--param", "anchors=10")
    assert "features.npz" in run("train", "gradnet", path, "--out", out, *small)
    learned = read_vector_file(out / "features.npz")
    assert learned.keys == KEYS
    assert [json.loads(text) for text in learned.metadata] == list(METADATA.values())
    assert np.array_equal(learned.vectors, np.load(out / "features.npy"))
    assert learned.neighbor_ids is None  # they were those of other vectors
    assert (learned.labels is None) != with_labels
    if with_labels:
        assert mean_precision(out / "features.npz") > 0.9
    run("index", out / "features.npz", "--out", tmp_path / "learned.fold")
    with Index.open(tmp_path / "learned.fold") as index:
        assert index.keys() == KEYS
