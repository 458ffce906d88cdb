"""``foldwalk train gradnet``: what it says, what it writes, what it refuses."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from foldwalk.cli.main import app
from foldwalk.learn import GradNet
from samples import clustered

pytest.importorskip("torch")

GALLERY, LABELS = clustered()
SMALL = ("--param", "layer_sizes=512,128,64", "--param", "anchors=10")


def invoke(*arguments):
    return CliRunner().invoke(app, ["train", "gradnet", *map(str, arguments)])


@pytest.fixture
def features_root(tmp_path):
    """A data set in the layout of the features: 120 items with classes."""
    (tmp_path / "data" / "features").mkdir(parents=True)
    np.savez(tmp_path / "data" / "features" / "toy_made.npz", x=GALLERY, labels=LABELS)
    return tmp_path / "data"


def test_vectors_of_a_file(tmp_path):
    np.save(tmp_path / "vectors.npy", GALLERY)
    out = tmp_path / "out"
    result = invoke(tmp_path / "vectors.npy", "--out", out, "--epochs", 2, "--seed", 3, *SMALL)
    assert result.exit_code == 0, result.output
    assert "120 items" in result.stdout
    assert "epoch 2, local" in result.stderr
    assert "mAP" not in result.stderr
    net = GradNet.load(out / "model.safetensors")
    assert np.array_equal(net.features, np.load(out / "features.npy"))
    same = GradNet(seed=3, epochs=2, layer_sizes="512,128,64", anchors=10).fit(GALLERY)
    assert net.features.tobytes() == same.features.tobytes()
    with open(out / "log.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["epoch"], set(row)) for row in rows] == [
        (str(epoch), {"epoch", "local", "global", "penalty"}) for epoch in (1, 2)
    ]


def test_data_set_with_classes_shows_what_is_learned(features_root, tmp_path):
    out = tmp_path / "out"
    wide = (*SMALL, "--param", "dimensions=0")
    result = invoke("toy", "--root", features_root, "--out", out, "--epochs", 2, "--json", *wide)
    assert result.exit_code == 0, result.output
    outcome = json.loads(result.stdout)
    width = 16 + 4 * 10 + 512 + 128 + 64
    assert (outcome["n"], outcome["dimensions"], outcome["seed"]) == (120, width, 0)
    labels = np.asarray(LABELS)
    ranked = labels[GradNet.load(out / "model.safetensors").rank_self(119).ids] == labels[:, None]
    places = np.arange(1, 120)
    precision = [(np.cumsum(row)[row] / places[row]).mean() for row in ranked]
    assert outcome["history"][-1]["mAP"] == pytest.approx(100 * np.mean(precision), abs=0.01)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "SOURCE"),
        (("digits", "--config", "mom-cub"), "SOURCE"),
        (("no_such_set",), "no_such_set"),
        (("nothing.npy",), "nothing.npy does not exist"),
        (("digits", "--param", "k=many"), "parameter k is 'many'"),
        (("digits", "--param", "k=1000", "--param", "colour=red"), "no parameter 'colour'"),
        (("iris.npy", "--param", "k=120"), "below the number of gallery items"),
    ],
)
def test_refuses_before_it_starts(tmp_path, monkeypatch, arguments, expected):
    monkeypatch.chdir(tmp_path)
    np.save("iris.npy", GALLERY)
    result = invoke(*arguments, "--out", "out")
    assert result.exit_code != 0
    assert expected in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_the_other_methods_need_a_file(tmp_path):
    result = CliRunner().invoke(app, ["train", "mom", "--out", str(tmp_path / "out")])
    assert "--config FILE" in str(result.exception)
