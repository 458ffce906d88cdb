"""``foldwalk train gradnet``: what it says, what it writes, what it refuses."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from foldwalk import Index
from foldwalk.cli.main import app
from foldwalk.core.vector_files import VectorFile, read_vector_file, write_vector_file
from foldwalk.learn import GradNet
from samples import clustered

pytest.importorskip("torch")
safetensors_numpy = pytest.importorskip("safetensors.numpy")

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
        ((), "foldwalk train gradnet SOURCE"),
        (("digits", "--config", "mom-cub"), "SOURCE"),
        (("no_such_set",), "no_such_set"),
        (("nothing.npy",), "nothing.npy does not exist"),
        (("digits", "--param", "k=many"), "parameter k is 'many'"),
        (("digits", "--param", "k=1000", "--param", "colour=red"), "no parameter 'colour'"),
        (("iris.npy", "--param", "k=120"), "below the number of gallery items"),
        (("iris.npy", "--param", "truncate=50"), "fit(gallery, queries=...)"),
        (("iris.npy", "--start", "nowhere"), "nowhere does not exist"),
        (("nothing.fold",), "nothing.fold does not exist"),
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


@pytest.fixture
def run(run, tmp_path, monkeypatch):
    """The same with v.npz, and more.npz of which it is the first part, in the folder."""
    monkeypatch.setenv("FOLDWALK_CACHE", str(tmp_path / "cache"))
    keys = [f"é{row}" for row in range(len(GALLERY))]
    write_vector_file(Path("v.npz"), VectorFile(GALLERY[:100], keys[:100]))
    write_vector_file(Path("more.npz"), VectorFile(GALLERY, keys))
    return run


TWICE = (*SMALL, "--param", "rounds=2")
TRAIN = ("train", "gradnet", "v.npz", "--out", "out", *TWICE, "--epochs", 3)


@pytest.fixture
def ctrl_c(monkeypatch):
    """After so many steps of training somebody presses Ctrl-C, once."""
    from foldwalk.rerank.learned.gradnet.train import GraphTrainer

    step, left = GraphTrainer.step, []

    def interrupted(self, sextets):
        if left and not left[0]:
            left.clear()
            raise KeyboardInterrupt
        if left:
            left[0] -= 1
        return step(self, sextets)

    monkeypatch.setattr(GraphTrainer, "step", interrupted)
    return left.append


def files(folder):
    """What each file holds; the head of a model's file may come in any order."""
    found = [path for path in Path(folder).iterdir() if "tfevents" not in path.name]
    weights = safetensors_numpy.load_file(Path(folder) / "model.safetensors")
    held = {path.name: path.read_bytes() for path in found if path.suffix != ".safetensors"}
    return {**held, "model.safetensors": {name: array.tobytes() for name, array in weights.items()}}


def test_a_finished_folder_is_not_replaced_unasked(run):
    assert run(*TRAIN)[0] == 0
    before = files("out")
    assert set(before) == {"model.safetensors", "features.npy", "features.npz", "log.csv"}
    code, _, said = run(*TRAIN, "--seed", 1)
    assert (code, said.count("\n")) == (2, 1)
    assert "out holds a finished training" in said
    assert "--force" in said
    assert files("out") == before
    assert run(*TRAIN, "--seed", 1, "--force")[0] == 0
    assert files("out")["features.npy"] != before["features.npy"]


@pytest.mark.parametrize("steps", [2, 4])
def test_a_training_that_was_stopped_goes_on_as_if_it_were_not(run, ctrl_c, steps):
    """Of two rounds of three epochs, one step each: stopped in the first round, and in the second."""
    assert run(*TRAIN)[0] == 0
    whole = files("out")
    shutil.rmtree("out")
    ctrl_c(steps)
    code, _, said = run(*TRAIN)
    assert code == 130
    assert said.endswith("kept in out/checkpoint.safetensors: the same command goes on from there.\n")
    code, _, said = run(*TRAIN, "--seed", 7)
    assert code == 2
    assert "another training" in said
    assert run("train", "gradnet", "nothing.npy", "--out", "out", "--force")[0] == 2  # and nothing is lost
    code, _, said = run(*TRAIN)
    assert code == 0
    assert f"epoch {steps + 1}, " in said
    assert f"epoch {steps}, " not in said
    assert files("out") == whole
    assert not Path("out/checkpoint.safetensors").exists()


def test_stopped_before_the_first_epoch_nothing_is_left(run, ctrl_c):
    ctrl_c(0)
    code, _, said = run(*TRAIN)
    assert code == 130
    assert said.endswith("stopped before the first epoch was done; nothing is kept.\n")
    assert not Path("out").exists()


def test_without_epochs_it_says_that_nothing_is_trained(run):
    code, _, said = run(*TRAIN[:-1], 0)
    assert (code, said) == (
        0,
        "epochs is 0: nothing is trained, the weights stay as they were drawn at random.\n",
    )
    tuned = ("train", "gradnet", "more.npz", "--start", "out", "--out", "tuned", "--epochs", 0)
    assert run(*tuned)[2].endswith("stay as they were in the model to start from.\n")


@pytest.mark.parametrize("changed", [("--epochs", 1), ("--epochs", 5), ("--param", "batch=1")])
def test_few_epochs_and_small_batches_train(run, changed):
    wide = (*SMALL, "--param", "dimensions=0")
    code, _, said = run("train", "gradnet", "v.npz", "--out", "out", "--epochs", 1, *wide, *changed)
    assert code == 0, said
    with open("out/log.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == (changed[1] if changed[0] == "--epochs" else 1)
    drawn = GradNet(epochs=0, layer_sizes="512,128,64", anchors=10, dimensions=0).fit(GALLERY[:100])
    assert not np.allclose(np.load("out/features.npy")[:, -64:], drawn.features[:, -64:], atol=1e-3)


def test_where_it_will_hardly_help_it_says_so_once(run):
    rng = np.random.default_rng(0)
    pairs = np.repeat(rng.normal(size=(40, 16)), 2, axis=0) + 0.01 * rng.normal(size=(80, 16))
    np.save("pairs.npy", pairs)
    train = ("train", "gradnet", "pairs.npy", "--out", "out", "--epochs", 1, *SMALL)
    code, told, said = run(*train)
    assert code == 0
    assert said.splitlines()[0].startswith("gradnet: the items seem to come in pairs")
    assert (told + said).count("pairs:") == 1
    code, told, _ = run(*train, "--force", "--json")
    assert json.loads(told)["advice"].startswith("the items seem to come in pairs")


def test_a_device_that_is_not_there_is_refused(run, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    code, _, said = run(*TRAIN, "--param", "device=cuda")
    assert (code, said.count("\n"), "device=cuda is not available" in said) == (2, 1, True)
    assert not Path("out").exists()


def test_a_training_goes_on_from_another(run):
    assert run(*TRAIN)[0] == 0
    code, _, said = run("train", "gradnet", "more.npz", "--start", "out", "--out", "tuned", "--epochs", 1)
    assert code == 0, said
    start = GradNet.load("out/model.safetensors")
    assert start.params.anchors == 10  # of SMALL, which need not be said again
    wanted = GradNet(**{**start.params.model_dump(), "epochs": 1}).fit(GALLERY, start=start)
    assert np.array_equal(np.load("tuned/features.npy"), wanted.features)


def test_an_index_keeps_what_was_trained_on_it(run, ctrl_c):
    assert run("index", "v.npz", "--out", "x.fold")[0] == 0
    ctrl_c(2)
    code, _, said = run("train", "gradnet", "x.fold", "--epochs", 3, *SMALL)
    assert code == 130
    assert "the same command goes on" in said
    code, told, said = run("train", "gradnet", "x.fold", "--epochs", 3, *SMALL)
    assert (code, "epoch 3, " in said, "epoch 2, " in said) == (0, True, False)
    assert told.startswith("x.fold: 100 items, ")
    assert not list(Path("cache").iterdir())
    code, _, said = run("search", "x.fold", "é3", "--method", "gradnet", "--json")
    assert (code, said) == (0, "")
    with Index.open("x.fold") as index:
        direct = GradNet(epochs=3, layer_sizes="512,128,64", anchors=10).fit(index.vectors())
        assert np.array_equal(index.features(), direct.features)
    assert "gradnet: trained on 100 items; 0 came and 0 went since" in run("info", "x.fold")[1]

    code, _, said = run("train", "gradnet", "x.fold", "--start", "x.fold")
    assert code == 2
    assert "trained on all of its 100 items; --force trains anew" in said
    assert run("add", "x.fold", "more.npz")[0] == 0
    assert "20 came and 0 went since" in run("info", "x.fold")[1]
    assert (
        "20 of 120 items came after the training; foldwalk train gradnet x.fold takes them in."
        in (run("search", "x.fold", "é110", "--method", "gradnet")[2])
    )
    code, told, said = run("train", "gradnet", "x.fold", "--epochs", 1, "--out", "out")
    assert code == 0
    assert "going on from the model of 100 items, since which 20 came and 0 went" in said
    assert "out: 120 items" in told
    learned = read_vector_file(Path("out/features.npz"))
    assert learned.keys == [f"é{row}" for row in range(120)]
    with Index.open("x.fold") as index:
        assert np.array_equal(index.features(), learned.vectors)
        start = {**direct.params.model_dump(), "epochs": 1}
        assert np.array_equal(GradNet(**start).fit(index.vectors(), start=direct).features, learned.vectors)


def test_a_search_says_that_it_trains_first(run):
    assert run("index", "v.npz", "--out", "x.fold")[0] == 0
    ask = ("search", "x.fold", "é3", "--method", "gradnet", "--param", "epochs=1", "--param", "rounds=1")
    first = "gradnet is trained on 100 items first, once for all searches; foldwalk train gradnet x.fold does"
    code, _, said = run(*ask)
    assert code == 0
    assert said.startswith(first)
    # A slow machine may tell of its progress.
    assert "is trained" not in run(*ask)[2]
    assert "is trained" not in run("search", "x.fold", "é3")[2]


def test_what_an_index_refuses(run):
    assert run("index", "v.npz", "--out", "x.fold")[0] == 0
    code, _, said = run("train", "gradnet", "x.fold", "--param", "metric=euclidean")
    assert (code, "x.fold is by cosine" in said) == (2, True)
    code, _, said = run("train", "gradnet", "v.npz")
    assert (code, "--out OUT is missing" in said) == (2, True)
    code, _, said = run("train", "gradnet", "v.npz", "--out", "v.npz")
    assert (code, "v.npz is a file" in said) == (2, True)
    code, _, said = run("train", "mom", "--config", "mom-cub", "--out", "out", "--force")
    assert (code, "--force" in said) == (2, True)
